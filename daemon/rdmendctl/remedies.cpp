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
    table.add({cell(*action, "id"), cell(*action, "phase"), time_text((*action)["changed"]), cell(*action, "kind"), cell(*action, "rule"),
               cell(*action, "target"), cell(*action, "reason")});
  }
  if (table.empty()) return;
  fmt::print("Actions under way; 'rdmendctl undo ID' gives back what one changed:\n");
  table.print();
  fmt::print("\n");
}

int show_remedies(const json& data) {
  show_actions(data["actions"]);
  TextTable table({"TIME (UTC)", "ACTION", "VERDICT", "REMEDY", "ALERT", "TARGET", "WHY"});
  for (const auto& entry : data["entries"])
    table.add({time_text(entry["at"]), entry["action"] == 0 ? "-" : cell(entry, "action"), cell(entry, "verdict"), cell(entry, "kind"),
               cell(entry, "rule"), cell(entry, "target"), cell(entry, "reason")});
  if (table.empty()) {
    fmt::print("no remedy was decided on yet\n");
    return fine;
  }
  fmt::print("Decisions and outcomes, newest first:\n");
  table.print();
  return fine;
}

}  // namespace

void add_remedies(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("remedies", "What was decided and done, newest first, refusals too");
  auto as_json = std::make_shared<bool>(false);
  auto limit = std::make_shared<std::size_t>(50);
  command->add_option("--limit", *limit, "at most so many decisions")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&globals, &exit, as_json, limit] {
    exit = online(globals, {"/api/v1/remedies", {{"limit", std::to_string(*limit)}}}, *as_json, show_remedies);
  });
}

}  // namespace rdmend::ctl
