// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

int show_events(const json& data) {
  TextTable table({"TIME (UTC)", "DEVICE", "PORT", "EVENT", "DETAIL"});
  for (const auto& event : data["events"])
    table.add({time_text(event["at"]), cell(event, "device"), cell(event, "port"), cell(event, "kind"), cell(event, "detail")});
  if (table.empty())
    fmt::print("no event since rdmend started\n");
  else
    table.print();
  return fine;
}

}  // namespace

void add_events(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("events", "What the devices told, newest first");
  auto as_json = std::make_shared<bool>(false);
  auto limit = std::make_shared<std::size_t>(50);
  command->add_option("--limit", *limit, "at most so many")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&globals, &exit, as_json, limit] {
    exit = online(globals, {"/api/v1/events", {{"limit", std::to_string(*limit)}}}, *as_json, show_events);
  });
}

}  // namespace rdmend::ctl
