// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.hpp"
#include "rdmend/daemon_state.hpp"
#include "rdmend/log_level.hpp"
#include "rdmend/self_metrics.hpp"

namespace rdmend::daemon {
namespace {

void log_lines(log::Level level, const std::string& text) {
  for (const auto line : split(text, '\n'))
    if (!line.empty()) log::write(level, "config", line);
}

// What is fixed for a life of the process: one sentence a key that was changed all the same.
std::string needs_restart(const config::Config& old, const config::Config& fresh) {
  std::string out;
  const auto compare = [&](std::string_view key, const std::string& before, const std::string& after) {
    if (before != after) out += fmt::format("{}: '{}' is used from the next start on, '{}' until then\n", key, after, before);
  };
  compare("state_directory", old.state_directory, fresh.state_directory);
  compare("control_socket", old.control_socket, fresh.control_socket);
  compare("control_group", old.control_group, fresh.control_group);
  compare("paths.sysfs", old.paths.sysfs, fresh.paths.sysfs);
  compare("paths.proc", old.paths.proc, fresh.paths.proc);
  return out;
}

void keep_fixed(const config::Config& old, config::Config& fresh) {
  fresh.state_directory = old.state_directory;
  fresh.control_socket = old.control_socket;
  fresh.control_group = old.control_group;
  fresh.paths = old.paths;
}

}  // namespace

void Daemon::State::load_rules() {
  engine.load(settings->groups, engine_options(settings->config), loop.now());
  store.set_limits(store_limits(settings->config, engine.reach()));
  std::vector<std::string> names;
  for (const auto& group : settings->groups)
    for (const auto& rule : group.rules)
      if (!rule.alert.empty()) names.push_back(rule.alert);
  executor.rules_loaded(names);
}

ReloadOutcome Daemon::State::reload() {
  notify.reloading();
  Diagnostics diagnostics;
  auto fresh = load_settings(settings->file, diagnostics);
  last_reload = {false, diagnostics.text(), loop.now().wall};
  if (!diagnostics.failed()) {
    if (auto listening = servers.listen_on(fresh.config.listen); listening)
      last_reload = apply(std::move(fresh), diagnostics);
    else
      last_reload.text = listening.error().message + "\n";
  }
  if (!last_reload.good) {
    log_lines(log::Level::error, last_reload.text);
    log::error("config", "not reloaded: all goes on as it was");
    last_reload.text += "not reloaded: all goes on as it was\n";
  }
  notify.ready(status_line());
  return last_reload;
}

ReloadOutcome Daemon::State::apply(Settings fresh, const Diagnostics& warnings) {
  const auto& old = settings->config;
  auto text = warnings.text() + needs_restart(old, fresh.config);
  keep_fixed(old, fresh.config);
  settings = std::make_shared<const Settings>(std::move(fresh));
  const auto& config = settings->config;
  set_log_level(config.log_level);
  load_rules();
  notifier.reconfigure(config);
  executor.reconfigure(config);
  host.reconfigure(source_options(config));
  metrics_timer = loop.every(config.sampling.interval, [this] { store.ingest(self_metrics(core, event_to_notification)); });
  step();  // rules that went resolve their alerts now
  log_lines(log::Level::warning, text);
  std::size_t rules = 0;
  for (const auto& group : settings->groups) rules += group.rules.size();
  const auto summary = fmt::format("reloaded: {} rules of {} files are in force", rules, settings->rule_files.size());
  log::info("config", summary);
  last_good_reload = loop.now().wall;
  return {true, text + summary + "\n", last_good_reload};
}

}  // namespace rdmend::daemon
