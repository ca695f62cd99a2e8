// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>

#include "base/log.hpp"
#include "rdmend/core.hpp"
#include "rdmend/daemon.hpp"
#include "rdmend/hand_client.hpp"
#include "rdmend/http_client.hpp"
#include "rdmend/notify.hpp"
#include "rdmend/processes.hpp"
#include "rdmend/qp_table.hpp"
#include "rdmend/servers.hpp"
#include "rdmend/units.hpp"
#include "rdmend/urgent.hpp"

namespace rdmend::daemon {

// What the sources know of neighbours, as remedies see it.
class HostNeighbours : public remedies::Neighbours {
 public:
  explicit HostNeighbours(const sources::Host& host) : host_(host) {}
  [[nodiscard]] std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const override { return host_.neighbours(device, port); }

 private:
  const sources::Host& host_;
};

// The rooms, in the order that they need each other, and what flows between them. Private to daemon*.cpp.
struct Daemon::State {
  State(Loop& l, Settings s, const DaemonOptions& options);

  // daemon.cpp
  void restore_alerts();
  void begin_timers();
  void check_ready();
  [[nodiscard]] bool devices_were_read() const;
  [[nodiscard]] bool qps_were_read() const;
  [[nodiscard]] std::string status_line() const;

  // daemon_flow.cpp: sources -> store -> rules -> remedies, alerts, journal
  void on_batch(const Batch& batch);
  void on_event(Event event);
  void on_qps(QpDump dump);
  void on_urgent(std::span<const Labels> changed, Instant since);
  void step();
  void schedule_step();
  void on_decisions(std::span<const Decision> decisions);
  void log_health();
  void each_second();
  void forget_gone_devices();
  void save_alerts();

  // daemon_reload.cpp
  ReloadOutcome reload();
  ReloadOutcome apply(Settings fresh, const Diagnostics& warnings);
  void load_rules();

  Loop& loop;
  Now started;
  std::shared_ptr<const Settings> settings;
  Notify notify;
  store::Store store;
  rules::Engine engine;
  HttpClient client;
  alerts::Notifier notifier;
  journal::Journal journal;
  HandClient hand;
  ChildProcesses processes;
  QpTable qps;
  SystemdUnits units;
  HostNeighbours neighbours;
  remedies::Executor executor;
  EventRing events;
  Urgent urgent;
  sources::Host host;

  bool ready = false, resumed = false;
  std::set<std::string, std::less<>> devices_read;
  bool alerts_changed = false;
  Instant alerts_saved{};
  std::optional<nanoseconds> event_to_notification;
  log::Limiter event_limiter, health_limiter;
  ReloadOutcome last_reload;
  Timestamp last_good_reload{};

  Core core;
  Servers servers;
  Reactor::Handle step_timer, second_timer, metrics_timer, ready_timer;
};

rules::EngineOptions engine_options(const config::Config& config);
store::Limits store_limits(const config::Config& config, milliseconds reach);
sources::Options source_options(const config::Config& config);

}  // namespace rdmend::daemon
