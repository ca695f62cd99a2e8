// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "promql/promql.hpp"
#include "rdmend/daemon_state.hpp"
#include "rdmend/for_state.hpp"

namespace rdmend::daemon {
namespace {

constexpr milliseconds kSaveAtLeast{60'000};

std::string state_text(const Decision& decision) {
  if (decision.alert.state != AlertState::inactive) return alert_state_name(decision.alert.state);
  return decision.before == AlertState::firing ? "resolved" : "inactive again";
}

void log_decision(const Decision& decision) {
  log::info("rules", fmt::format("{} is {}", decision.alert.rule, state_text(decision)),
            {{"alert", decision.alert.labels.text()},
             {"value", promql::format_value(decision.alert.value)},
             {"since", format_timestamp(decision.alert.active_at)}});
}

}  // namespace

void Daemon::State::on_batch(const Batch& batch) {
  store.ingest(batch);
  if (!ready)
    for (const auto& sample : batch.samples)
      if (const auto device = sample.labels.get("device"); !device.empty()) {
        devices_read.emplace(device);
        break;  // a scope is of one device
      }
  if (batch.urgent) urgent.mark(batch);
}

void Daemon::State::on_event(Event event) {
  const auto key = event.device + '/' + event.port + ' ' + event.kind;
  if (const auto held_back = event_limiter.admit(key, loop.now().mono); held_back >= 0)
    log::info("sources", event.kind,
              {{"device", event.device}, {"port", event.port}, {"detail", event.detail}, {"held_back", std::to_string(held_back)}});
  events.push(std::move(event));
}

void Daemon::State::on_qps(QpDump dump) { qps.take(std::move(dump)); }

void Daemon::State::on_urgent(std::span<const Labels> changed, Instant since) {
  // POSTs that are made until this returns are due to the event: their way is measured.
  client.set_cause(since);
  on_decisions(engine.run_readers_of(changed, loop.now()));
  client.set_cause(std::nullopt);
}

void Daemon::State::step() {
  on_decisions(engine.step(loop.now()));
  schedule_step();
}

void Daemon::State::schedule_step() {
  const auto due = engine.next_due();
  step_timer.reset();
  if (due == Instant::max()) return;
  const auto delay = std::chrono::ceil<milliseconds>(due - loop.now().mono);
  step_timer = loop.after(std::max(delay, milliseconds{0}), [this] { step(); });
}

void Daemon::State::on_decisions(std::span<const Decision> decisions) {
  const auto now = loop.now();
  // Alertmanager first: nothing that follows may hold up what people wait for.
  notifier.update(engine.alerts(), now);
  log_health();
  if (decisions.empty()) return;
  for (const auto& decision : decisions) log_decision(decision);
  executor.on_decisions(decisions, now);
  alerts_changed = true;
}

// A rule that fails tells nobody anything: that is to be told.
void Daemon::State::log_health() {
  for (const auto& [group, file, rule, error] : engine.health_changes()) {
    if (health_limiter.admit(fmt::format("{}/{} {}", group, rule, error.empty() ? "well" : "failing"), loop.now().mono) < 0) continue;
    if (error.empty())
      log::info("rules", fmt::format("{} can be evaluated again", rule), {{"group", group}, {"file", file}});
    else
      log::warning("rules", fmt::format("{} cannot be evaluated: {}", rule, error), {{"group", group}, {"file", file}});
  }
}

void Daemon::State::each_second() {
  const auto now = loop.now();
  store.expire(now.wall);
  forget_gone_devices();
  if (alerts_changed || now.mono - alerts_saved >= kSaveAtLeast) save_alerts();
  if (ready) notify.status(status_line());
}

// Removed ones, and renamed ones under their old name.
void Daemon::State::forget_gone_devices() {
  const auto present = host.devices();
  for (const auto& device : qps.devices())
    if (std::none_of(present.begin(), present.end(), [&](const auto& d) { return d.name == device; })) qps.forget(device);
}

void Daemon::State::save_alerts() {
  alerts_changed = false;
  alerts_saved = loop.now().mono;
  journal.put("for_state", write_for_state(engine.save()));
}

}  // namespace rdmend::daemon
