// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "base/text.hpp"
#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

void line(std::string_view title, std::string_view text) {
  fmt::print("{:<14} {}\n", title, printable(text, 1000));
}

std::string mode_line(const json& status) {
  const auto text = cell(status, "mode_text");
  if (status["mode"] == "observe")
    return text +
           ": everything is decided and written down, nothing is changed ('rdmendctl mode act' lets it act)";
  const auto hand = cell(status, "hand");
  return text + ": allowed remedies are carried out" +
         (hand == "-" ? "" : ", but not those that need the hand: " + hand);
}

std::string allowed(const json& status) {
  std::string out;
  for (const auto& kind : status["allowed_remedies"])
    out += (out.empty() ? "" : ", ") + kind.get<std::string>();
  return out.empty() ? "none (remedies.allow)" : out;
}

void show_devices(const json& devices) {
  if (devices.empty()) line("devices", "none; one that comes will be watched");
  for (const auto& device : devices) {
    std::string ports;
    for (const auto& port : device["ports"]) ports += (ports.empty() ? "" : ",") + port.get<std::string>();
    line("device", fmt::format("{} ({}{}{}), port{} {}{}", cell(device, "name"), cell(device, "driver"),
                               cell(device, "firmware") == "-" ? "" : ", firmware ",
                               cell(device, "firmware") == "-" ? "" : cell(device, "firmware"),
                               device["ports"].size() == 1 ? "" : "s", ports.empty() ? "-" : ports,
                               device["stale"].get<bool>() ? "  STALE: it does not answer" : ""));
  }
}

void show_alertmanagers(const json& alertmanagers) {
  if (alertmanagers.empty())
    line("alertmanagers", "none: alerts are to be seen here and in /api/v1/alerts only");
  for (const auto& to : alertmanagers) {
    const auto fault = cell(to, "last_error");
    line("alertmanager", fmt::format("{}: {} sent, {} failed, {} dropped, {} waiting{}", cell(to, "url"),
                                     cell(to, "sent"), cell(to, "failed"), cell(to, "dropped"),
                                     cell(to, "queued"), fault == "-" ? "" : "; " + fault));
  }
}

void show_status(const json& status) {
  fmt::print("rdmend {}, up {}, since {} UTC, {}\n", cell(status, "version"),
             length_text(status["uptime_seconds"].get<double>()), time_text(status["started"]),
             status["ready"].get<bool>() ? "ready" : "reading its devices for the first time");
  line("mode", mode_line(status));
  line("remedies", "allowed: " + allowed(status));
  show_devices(status["devices"]);
  const auto& rules = status["rules"];
  line("rules", fmt::format("{} alerting and {} recording in {} files; {} failing", cell(rules, "alerting"),
                            cell(rules, "recording"), cell(rules, "files"), cell(rules, "failing")));
  for (const auto& rule : rules["failed"]) line("", fmt::format("{} cannot be evaluated: {}", cell(rule, "name"), cell(rule, "last_error")));
  line("alerts", fmt::format("{} firing, {} pending", cell(rules, "firing"), cell(rules, "pending")));
  show_alertmanagers(status["alertmanagers"]);
  line("breaker", cell(status["breaker"], "text"));
  const auto trouble = cell(status["journal"], "trouble");
  line("journal", trouble == "-" ? "written to disk" : "in memory only: " + trouble);
  const auto& store = status["store"];
  line("store",
       fmt::format("{} series, {:.1f} of {:.0f} MiB", cell(store, "series"),
                   store["bytes"].get<double>() / 1048576, store["max_bytes"].get<double>() / 1048576));
  const auto& reload = status["last_reload"];
  line("configuration",
       reload["good"].get<bool>()
           ? cell(status, "config_file") + ", read " + time_text(reload["at"]) + " UTC"
           : cell(status, "config_file") + ": the last reload failed, the settings before it are in force");
  if (!reload["good"].get<bool>()) fmt::print("{}", cell(reload, "text"));
}

}  // namespace

void add_status(CLI::App& parent, const Globals& globals, int& exit) {
  const auto call = [] { return Call{"/api/v1/status", {}}; };
  add_question(
      parent, globals, exit,
      {"status", "How rdmend fares: mode, devices, rules, alerts, where they go", call, show_status});
}

}  // namespace rdmend::ctl
