// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

void show_events(const json& data) {
  TextTable table({"TIME (UTC)", "DEVICE", "PORT", "EVENT", "DETAIL"});
  for (const auto& event : data["events"])
    table.add({time_text(event["at"]), cell(event, "device"), cell(event, "port"), cell(event, "kind"),
               cell(event, "detail")});
  table.print_or("no event since rdmend started");
}

}  // namespace

void add_events(CLI::App& parent, const Globals& globals, int& exit) {
  auto limit = std::make_shared<std::string>();
  const auto call = [limit] { return Call{"/api/v1/events", {{"limit", *limit}}}; };
  add_limit(add_question(parent, globals, exit,
                         {"events", "What the devices told, newest first", call, show_events}),
            limit);
}

}  // namespace rdmend::ctl
