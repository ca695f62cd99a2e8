// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "command_line.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

constexpr std::uint64_t kMostHistory = 10'000;

void show_gaps(const json& journal) {
  if (const auto trouble = cell(journal, "trouble"); trouble != "-")
    fmt::print("The journal is in memory only ({}): older decisions may be missing.\n", trouble);
  if (journal["lost"] != 0)
    fmt::print("{} decisions could not be written and are missing.\n", cell(journal, "lost"));
}

void show_history(const json& data) {
  show_gaps(data["journal"]);
  TextTable table({"TIME (UTC)", "ACTION", "VERDICT", "REMEDY", "ALERT", "VALUE", "TARGET", "WHY"});
  for (const auto& entry : data["entries"])
    table.add({time_text(entry["at"]), entry["action"] == 0 ? "-" : cell(entry, "action"),
               cell(entry, "verdict"), cell(entry, "kind"), cell(entry, "rule"), cell(entry, "value"),
               cell(entry, "target"), cell(entry, "reason")});
  table.print_or("nothing was decided in that time");
}

}  // namespace

void add_history(CLI::App& parent, const Globals& globals, int& exit) {
  auto limit = std::make_shared<std::string>();
  auto since = std::make_shared<std::string>();
  const auto call = [limit, since] {
    Call out{"/api/v1/history", {{"limit", *limit}}};
    if (!since->empty()) out.parameters.emplace_back("since", *since);
    return out;
  };
  auto& command = add_question(parent, globals, exit,
                               {"history", "Decisions and outcomes from the journal, also those of before a restart, newest first",
                                call, show_history});
  command.add_option("--since", *since, "not older than that")->type_name("DURATION")->check(command_line::duration());
  add_limit(command, limit, kMostHistory);
}

}  // namespace rdmend::ctl
