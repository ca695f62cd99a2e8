// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

void show_alerts(const json& data) {
  TextTable table({"STATE", "ALERT", "FOR", "VALUE", "LABELS", "SUMMARY"});
  for (const auto& alert : data["alerts"])
    table.add({cell(alert, "state"), cell(alert["labels"], "alertname"), age_text(alert["activeAt"]),
               cell(alert, "value"), labels_text(alert["labels"]), cell(alert["annotations"], "summary")});
  table.print_or("no alert is pending or firing");
}

}  // namespace

void add_alerts(CLI::App& parent, const Globals& globals, int& exit) {
  const auto call = [] { return Call{"/api/v1/alerts", {}}; };
  add_question(parent, globals, exit, {"alerts", "The alerts that are pending or firing", call, show_alerts});
}

}  // namespace rdmend::ctl
