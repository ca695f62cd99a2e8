// SPDX-License-Identifier: Apache-2.0
#include "rdmend/self_metrics.hpp"

#include <sys/utsname.h>

#include "rdmend/api_json.hpp"

namespace rdmend::daemon {
namespace {

// The batch under construction; name and label pairs make a sample.
struct Writer {
  Batch& batch;
  void operator()(std::string_view name, double value, std::vector<Labels::Pair> labels = {}) const {
    labels.emplace_back(kMetricName, name);
    batch.samples.push_back({Labels(std::move(labels)), value});
  }
};

double seconds_of(Timestamp at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

std::string kernel_release() {
  utsname names{};
  uname(&names);
  return names.release;
}

void about_the_process(const Core& core, const Writer& write) {
  static const auto kernel = kernel_release();
  write("rdmend_build_info", 1, {{"version", RDMEND_VERSION}, {"kernel", kernel}});
  write("rdmend_start_time_seconds", seconds_of(core.started.wall));
  const bool acts = core.executor.mode() == config::Mode::act;
  write("rdmend_mode", acts ? 0 : 1, {{"mode", "observe"}});
  write("rdmend_mode", acts ? 1 : 0, {{"mode", "act"}});
  write("rdmend_devices", static_cast<double>(core.host.devices().size()));
  write("rdmend_config_last_reload_successful", core.last_reload.good ? 1 : 0);
  write("rdmend_config_last_reload_success_timestamp_seconds", seconds_of(core.last_good_reload));
  const auto loop = core.loop.stats();
  write("rdmend_loop_wakeups_total", static_cast<double>(loop.wakeups));
  write("rdmend_loop_busy_seconds_total", in_seconds(loop.busy));
  write("rdmend_loop_longest_seconds", in_seconds(loop.longest));
}

void about_clients(const Core& core, const Writer& write) {
  for (const auto& server : core.servers.status()) {
    write("rdmend_http_connections", static_cast<double>(server.connections), {{"address", server.address}});
    write("rdmend_http_dropped_total", static_cast<double>(server.dropped), {{"address", server.address}});
  }
}

void about_the_store(const Core& core, const Writer& write) {
  const auto stats = core.store.stats();
  write("rdmend_store_series", static_cast<double>(stats.series));
  write("rdmend_store_points", static_cast<double>(stats.points));
  write("rdmend_store_bytes", static_cast<double>(stats.bytes));
  write("rdmend_store_max_bytes", static_cast<double>(core.settings->config.store.max_bytes));
  write("rdmend_store_evicted_points_total", static_cast<double>(stats.evicted_points));
  write("rdmend_store_rejected_points_total", static_cast<double>(stats.rejected_points));
}

void about_rules(const Core& core, const Writer& write) {
  for (const auto& rule : core.engine.status()) {
    const std::vector<Labels::Pair> which{{"group", rule.group}, {"rule", rule.name}};
    write("rdmend_rule_evaluations_total", static_cast<double>(rule.evaluations), which);
    write("rdmend_rule_evaluation_failures_total", static_cast<double>(rule.failures), which);
    if (rule.evaluations > 0) {
      write("rdmend_rule_last_evaluation_seconds", in_seconds(rule.evaluation_time), which);
      write("rdmend_rule_last_evaluation_timestamp_seconds", seconds_of(rule.last_evaluation), which);
    }
    if (!rule.alerting) continue;
    for (const auto state : {AlertState::pending, AlertState::firing}) {
      double count = 0;
      for (const auto& alert : rule.alerts) count += alert.state == state ? 1 : 0;
      write("rdmend_rule_alerts", count, {{"group", rule.group}, {"rule", rule.name}, {"state", alert_state_name(state)}});
    }
  }
}

void about_remedies(const Core& core, const Writer& write) {
  for (const auto& count : core.executor.counts())
    write("rdmend_remedies_total", static_cast<double>(count.count), {{"action", count.kind}, {"outcome", verdict_name(count.verdict)}});
  for (const auto& length : core.executor.durations()) {
    write("rdmend_remedy_seconds_sum", length.sum_seconds, {{"action", length.kind}});
    write("rdmend_remedy_seconds_count", static_cast<double>(length.count), {{"action", length.kind}});
  }
  write("rdmend_remedy_breaker_open", core.executor.breaker_open() ? 1 : 0);
}

void about_the_journal(const Core& core, const Writer& write) {
  const auto status = core.journal.status();
  write("rdmend_journal_writable", core.journal.trouble().empty() ? 1 : 0);
  write("rdmend_journal_errors_total", static_cast<double>(status.errors));
  write("rdmend_journal_set_aside_total", static_cast<double>(status.set_aside));
  write("rdmend_journal_entries", static_cast<double>(status.entries));
  write("rdmend_journal_bytes", static_cast<double>(status.bytes));
  write("rdmend_journal_dropped_total", static_cast<double>(status.dropped), {{"reason", "bound"}});
  write("rdmend_journal_dropped_total", static_cast<double>(status.lost), {{"reason", "unwritten"}});
}

void about_notifications(const Core& core, const Writer& write) {
  for (const auto& to : core.notifier.status()) {
    const std::vector<Labels::Pair> which{{"alertmanager", to.url}};
    write("rdmend_notifications_sent_total", static_cast<double>(to.sent), which);
    write("rdmend_notifications_failed_total", static_cast<double>(to.failed), which);
    write("rdmend_notifications_dropped_total", static_cast<double>(to.dropped), which);
    write("rdmend_notifications_queued", static_cast<double>(to.queued), which);
    if (to.last_success != Timestamp{}) write("rdmend_notifications_last_success_timestamp_seconds", seconds_of(to.last_success), which);
  }
}

}  // namespace

Batch self_metrics(const Core& core, std::optional<nanoseconds> event_to_notification) {
  Batch out;
  out.scope = "rdmend";
  out.at = core.loop.now().wall;
  const Writer write{out};
  about_the_process(core, write);
  about_clients(core, write);
  about_the_store(core, write);
  about_rules(core, write);
  about_remedies(core, write);
  about_the_journal(core, write);
  about_notifications(core, write);
  if (event_to_notification) write("rdmend_event_to_notification_seconds", in_seconds(*event_to_notification));
  return out;
}

}  // namespace rdmend::daemon
