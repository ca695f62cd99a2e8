// SPDX-License-Identifier: Apache-2.0
#include "rdmend/daemon.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rdmend/api.hpp"
#include "rdmend/daemon_state.hpp"
#include "rdmend/for_state.hpp"
#include "rdmend/self_metrics.hpp"
#include "sources/choice.hpp"
#include "sources/netdev_calls.hpp"

namespace rdmend::daemon {
namespace {

constexpr milliseconds kReadyLook{50};
// A device that hangs must not keep rdmend from being ready, nor from taking up what a former life left due.
constexpr milliseconds kReadyAtLatest{5'000};
constexpr milliseconds kResumeAtLatest{15'000};
constexpr milliseconds kFlush{3'000};

}  // namespace

rules::EngineOptions engine_options(const config::Config& config) {
  rules::EngineOptions out;
  out.default_interval = config.rules.evaluation_interval;
  out.external_labels = config.external_labels;
  out.external_url = config.external_url;
  out.limits.max_samples = config.query.max_samples;
  out.limits.timeout = config.query.timeout;
  return out;
}

store::Limits store_limits(const config::Config& config, milliseconds reach) {
  store::Limits out;
  out.max_bytes = config.store.max_bytes;
  out.retention = std::max(out.retention, reach);
  return out;
}

sources::Options source_options(const config::Config& config) {
  sources::Options out;
  out.sysfs = config.paths.sysfs;
  out.proc = config.paths.proc;
  // Another tree than the kernel's own is somebody's copy: what netlink or verbs would say does not belong to it.
  out.live = config.paths.sysfs == config::Config{}.paths.sysfs;
  out.include = config.devices.include;
  out.exclude = config.devices.exclude;
  out.raw = std::make_shared<const sources::Choice>("raw counter", config.raw_counters.include, config.raw_counters.exclude);
  out.interval = config.sampling.interval;
  out.counters_interval = config.sampling.counters_interval;
  out.qp_interval = config.sampling.qp_interval;
  out.qp_cap = config.sampling.qp_cap;
  out.deadline = config.sampling.deadline;
  if (out.live) out.netdev = sources::kernel_netdev_calls;
  return out;
}

Daemon::State::State(Loop& l, Settings s, const DaemonOptions& options)
    : loop(l),
      started(loop.now()),
      settings(std::make_shared<const Settings>(std::move(s))),
      notify(loop),
      store(store_limits(settings->config, milliseconds{0})),
      engine(store, engine_options(settings->config)),
      client(loop),
      notifier(loop, client, settings->config),
      journal(loop, settings->config.state_directory),
      hand(loop, options.hand),
      processes(loop),
      qps(loop, [this](const std::string& device) { host.request_qp_dump(device); }),
      units(loop, own_unit()),
      neighbours(host),  // made after it, asked only when the loop runs
      executor(remedies::Environment{loop, store, hand, processes, qps, units, neighbours}, journal, settings->config),
      urgent(loop, [this](std::span<const Labels> changed, Instant since) { on_urgent(changed, since); }),
      host(loop, source_options(settings->config),
           {[this](const Batch& batch) { on_batch(batch); }, [this](Event event) { on_event(std::move(event)); },
            [this](QpDump dump) { on_qps(std::move(dump)); }}),
      core{loop, store, engine, notifier, journal, executor, hand, host, events, servers, settings, ready, started, last_reload, last_good_reload,
           [this] { return reload(); }},
      servers(loop, [this](const HttpRequest& request, const Answer& answer) { serve(core, request, answer); }, options.sockets) {
  loop.on_set_back([this](milliseconds by) {
    log::warning("loop", "the wall clock was set back, and all points and alerts with it", {{"milliseconds", std::to_string(by.count())}});
    store.set_back(by);
    engine.set_back(by);
  });
  client.on_sent([this](nanoseconds since) {
    event_to_notification = since;
    log::debug("alerts", "an event's alert has left", {{"microseconds", std::to_string(since.count() / 1000)}});
    // Not from within the client, and not only at the next tick: whoever waits for the alert may look for this at once.
    loop.post([this] { store.ingest(self_metrics(core, event_to_notification)); });
  });
}

void Daemon::State::restore_alerts() {
  const auto saved = read_for_state(journal.get("for_state"));
  if (saved)
    engine.restore(*saved, loop.now());
  else
    log::warning("rules", "the alerts begin anew", {{"why", saved.error().message}});
  alerts_saved = loop.now().mono;
}

void Daemon::State::begin_timers() {
  second_timer = loop.every(seconds{1}, [this] { each_second(); });
  metrics_timer = loop.every(settings->config.sampling.interval, [this] { store.ingest(self_metrics(core, event_to_notification)); });
  store.ingest(self_metrics(core, event_to_notification));
  schedule_step();
}

bool Daemon::State::devices_were_read() const {
  if (!host.searched()) return false;
  const auto devices = host.devices();
  return std::all_of(devices.begin(), devices.end(), [&](const auto& d) { return d.stale || devices_read.contains(d.name); });
}

bool Daemon::State::qps_were_read() const {
  if (!source_options(settings->config).live) return true;
  const auto devices = host.devices();
  return std::all_of(devices.begin(), devices.end(), [&](const auto& d) { return d.stale || qps.latest(d.name).at != Timestamp{}; });
}

// Twice something is waited for, each with a bound: the first reading, and the first QP dumps.
void Daemon::State::check_ready() {
  const auto waited = loop.now().mono - started.mono;
  if (!ready && (devices_were_read() || waited >= kReadyAtLatest)) {
    ready = true;
    notify.ready(status_line());
    log::info("daemon", "ready", {{"devices", std::to_string(host.devices().size())}, {"mode", executor.mode_text(loop.now())}});
  }
  if (ready && !resumed && !journal.unread() && (qps_were_read() || waited >= kResumeAtLatest)) {
    resumed = true;
    executor.resume(engine.alerts());
    ready_timer.reset();
  }
}

std::string Daemon::State::status_line() const {
  std::size_t firing = 0;
  for (const auto& alert : engine.alerts()) firing += alert.state == AlertState::firing ? 1 : 0;
  const auto devices = host.devices().size();
  return fmt::format("{}; {} device{}, {} alert{} firing", executor.mode_text(loop.now()), devices, devices == 1 ? "" : "s", firing,
                     firing == 1 ? "" : "s");
}

Daemon::Daemon(Loop& loop, Settings settings, const DaemonOptions& options)
    : state_(std::make_unique<State>(loop, std::move(settings), options)) {}
Daemon::~Daemon() = default;

Result<void> Daemon::start() {
  auto& state = *state_;
  const auto& config = state.settings->config;
  if (auto control = state.servers.open_control(config.control_socket, config.control_group); !control) return control.error();
  if (auto listening = state.servers.listen_on(config.listen); !listening) return listening.error();
  state.servers.tell_unused();
  if (!source_options(config).live)
    log::info("daemon", "netlink, verbs, uevents and ethtool are off: all comes from another tree", {{"sysfs", config.paths.sysfs}});
  state.load_rules();
  state.restore_alerts();
  state.last_reload = {true, "read at the start", state.started.wall};
  state.last_good_reload = state.started.wall;
  state.hand.start();
  state.host.start();
  state.begin_timers();
  state.ready_timer = state.loop.every(kReadyLook, [&state] { state.check_ready(); });
  return {};
}

void Daemon::reload() { state_->reload(); }

void Daemon::stop() {
  auto& state = *state_;
  state.notify.stopping();
  log::info("daemon", "ending");
  state.servers.close_all();
  state.save_alerts();
  state.journal.flush(kFlush);
}

}  // namespace rdmend::daemon
