// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

int show_alerts(const json& data) {
  TextTable table({"STATE", "ALERT", "FOR", "VALUE", "LABELS", "SUMMARY"});
  for (const auto& alert : data["alerts"])
    table.add({cell(alert, "state"), cell(alert["labels"], "alertname"), age_text(alert["activeAt"]), cell(alert, "value"),
               labels_text(alert["labels"]), cell(alert["annotations"], "summary")});
  if (table.empty())
    fmt::print("no alert is pending or firing\n");
  else
    table.print();
  return fine;
}

}  // namespace

void add_alerts(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("alerts", "The alerts that are pending or firing");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&globals, &exit, as_json] { exit = online(globals, {"/api/v1/alerts", {}}, *as_json, show_alerts); });
}

}  // namespace rdmend::ctl
