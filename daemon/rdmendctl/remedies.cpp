// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

void show_actions(const json& actions) {
  TextTable table({"ID", "PHASE", "SINCE (UTC)", "REMEDY", "ALERT", "TARGET", "WHAT"});
  for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
    if ((*action)["phase"] == "ended") continue;
    table.add({cell(*action, "id"), cell(*action, "phase"), time_text((*action)["changed"]),
               cell(*action, "kind"), cell(*action, "rule"), cell(*action, "target"),
               cell(*action, "reason")});
  }
  if (table.empty()) return;
  fmt::print("Actions under way; 'rdmendctl undo ID' gives back what one changed:\n");
  table.print();
  fmt::print("\n");
}

void show_remedies(const json& data) {
  show_actions(data["actions"]);
  TextTable table({"TIME (UTC)", "ACTION", "VERDICT", "REMEDY", "ALERT", "TARGET", "WHY"});
  for (const auto& entry : data["entries"])
    table.add({time_text(entry["at"]), entry["action"] == 0 ? "-" : cell(entry, "action"),
               cell(entry, "verdict"), cell(entry, "kind"), cell(entry, "rule"), cell(entry, "target"),
               cell(entry, "reason")});
  if (table.empty()) {
    fmt::print("no remedy was decided on yet\n");
    return;
  }
  fmt::print("Decisions and outcomes, newest first:\n");
  table.print();
}

}  // namespace

void add_remedies(CLI::App& parent, const Globals& globals, int& exit) {
  auto limit = std::make_shared<std::string>();
  const auto call = [limit] { return Call{"/api/v1/remedies", {{"limit", *limit}}}; };
  add_limit(add_question(
                parent, globals, exit,
                {"remedies", "What was decided and done, newest first, refusals too", call, show_remedies}),
            limit);
}

}  // namespace rdmend::ctl
