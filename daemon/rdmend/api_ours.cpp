// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/deep.hpp"

namespace rdmend::daemon {
namespace {

using nlohmann::json;

constexpr std::size_t kUsualEntries = 100;
constexpr std::size_t kMostFailedRules = 10;  // told one by one

json devices_json(const Core& core) {
  auto out = json::array();
  for (const auto& device : core.host.devices())
    out.push_back({{"name", device.name},
                   {"driver", device.driver},
                   {"firmware", device.firmware},
                   {"node_guid", device.node_guid},
                   {"stale", device.stale},
                   {"ports", device.ports}});
  return out;
}

json rules_json(const Core& core) {
  std::size_t alerting = 0;
  std::size_t failing = 0;
  auto failed = json::array();  // why, of the first few
  std::size_t pending = 0;
  std::size_t firing = 0;
  const auto rules = core.engine.status();
  for (const auto& rule : rules) {
    alerting += rule.alerting ? 1 : 0;
    if (rule.health == "err" && ++failing <= kMostFailedRules) failed.push_back({{"group", rule.group}, {"name", rule.name}, {"last_error", rule.last_error}});
    for (const auto& alert : rule.alerts) {
      pending += alert.state == AlertState::pending ? 1 : 0;
      firing += alert.state == AlertState::firing ? 1 : 0;
    }
  }
  return {{"files", core.settings->rule_files.size()}, {"alerting", alerting}, {"recording", rules.size() - alerting},
          {"failing", failing}, {"failed", std::move(failed)}, {"pending", pending}, {"firing", firing}};
}

json alertmanagers_json(const Core& core) {
  auto out = json::array();
  for (const auto& to : core.notifier.status())
    out.push_back({{"url", to.url}, {"sent", to.sent}, {"failed", to.failed}, {"dropped", to.dropped}, {"queued", to.queued},
                   {"last_error", to.last_error}, {"last_success", to_json(to.last_success)}});
  return out;
}

json qp_json(const QpInfo& qp) {
  json out{{"qpn", qp.qpn},           {"type", qp_type_name(qp.type)}, {"state", qp_state_name(qp.state)}, {"port", qp.port},
           {"pid", qp.pid},           {"comm", qp.comm},               {"kernel_owner", qp.kernel_owner}};
  if (qp.remote_qpn) out["remote_qpn"] = *qp.remote_qpn;
  if (!qp.peer.empty()) out["peer"] = qp.peer;
  if (qp.rq_psn) out["rq_psn"] = *qp.rq_psn;
  if (qp.sq_psn) out["sq_psn"] = *qp.sq_psn;
  if (qp.path_mig_state) out["path_mig_state"] = *qp.path_mig_state;
  return out;
}

json attributes_json(const wire::QpAttributes& read) {
  json out{{"state", qp_state_name(read.state)}, {"port", read.port},           {"path_mtu", read.path_mtu},   {"timeout", read.timeout},
           {"retry_cnt", read.retry_cnt},        {"rnr_retry", read.rnr_retry}, {"min_rnr_timer", read.min_rnr_timer},
           {"dest_qpn", read.dest_qpn},          {"rq_psn", read.rq_psn},       {"sq_psn", read.sq_psn}};
  if (!read.global) return out;
  std::string gid;
  for (std::size_t i = 0; i < 16; i += 2) gid += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", read.remote_gid[i], read.remote_gid[i + 1]);
  out["remote_gid"] = gid;
  return out;
}

// How this host knows the peers of a device's queue pairs: port and address, the state of the ARP or ND entry.
using PeerStates = std::map<std::pair<std::uint32_t, std::string>, std::string>;
PeerStates peer_states(const Core& core, const QpDump& dump) {
  std::set<std::uint32_t> ports;
  for (const auto& qp : dump.qps)
    if (!qp.peer.empty()) ports.insert(qp.port);
  PeerStates out;
  for (const auto port : ports)
    for (const auto& neighbour : core.host.neighbours(dump.device, std::to_string(port)))
      out[{port, neighbour.entry.address}] = neighbour_state_name(neighbour.entry.state);
  return out;
}

json dumps_json(const Core& core, const std::vector<QpDump>& dumps) {
  auto out = json::array();
  for (const auto& dump : dumps) {
    auto qps = json::array();
    const auto peers = peer_states(core, dump);
    for (const auto& qp : dump.qps) {
      qps.push_back(qp_json(qp));
      if (const auto known = peers.find({qp.port, neighbour_address(qp.peer)}); known != peers.end()) qps.back()["neighbour"] = known->second;
    }
    out.push_back({{"device", dump.device}, {"at", to_json(dump.at)}, {"truncated", dump.truncated}, {"qps", std::move(qps)}});
  }
  return out;
}

void add_depth(json& device, const DeepAnswer& answer) {
  if (!answer.error.empty()) device["deep_error"] = answer.error;
  for (const auto& reply : answer.qps)
    for (auto& qp : device["qps"]) {
      if (qp["qpn"] != reply.qpn) continue;
      qp["tgid"] = reply.tgid;
      if (reply.before) qp["attributes"] = attributes_json(*reply.before);
      if (!reply.error.empty()) qp["deep_error"] = reply.error;
    }
}

json action_json(const remedies::ActionStatus& action) {
  return {{"id", action.id},         {"rule", action.rule},     {"kind", action.kind},     {"description", action.description},
          {"target", action.target}, {"alert", to_json(action.alert)}, {"phase", action.phase}, {"verdict", verdict_name(action.verdict)},
          {"reason", action.reason}, {"began", to_json(action.began)}, {"changed", to_json(action.changed)}, {"undoable", action.undoable}};
}

HttpResponse bad_limit(const HttpRequest& request) {
  return failure(400, "bad_data", fmt::format("invalid parameter \"limit\": '{}' is not a number from 1 up", printable(request.parameter("limit"), 32)));
}

bool concerns(const Event& event, std::span<const Alert> alerts) {
  return std::any_of(alerts.begin(), alerts.end(), [&](const Alert& alert) {
    const auto device = alert.labels.get("device");
    const auto port = alert.labels.get("port");
    return (device.empty() || device == event.device) && (port.empty() || event.port.empty() || port == event.port);
  });
}

json told_alert(const Alert& alert) {
  return {{"labels", to_json(alert.labels)},       {"annotations", to_json(alert.annotations)},
          {"state", alert_state_name(alert.state)}, {"value", std::isfinite(alert.value) ? json(alert.value) : json(nullptr)},
          {"active_at", to_json(alert.active_at)}, {"fired_at", to_json(alert.fired_at)},
          {"resolved_at", to_json(alert.resolved_at)}, {"keep_firing_since", to_json(alert.keep_firing_since)}};
}

json told_rule(const rules::RuleStatus& rule) {
  return {{"group", rule.group}, {"file", rule.file}, {"query", rule.query}, {"for_seconds", in_seconds(rule.hold)},
          {"keep_firing_for_seconds", in_seconds(rule.keep_firing_for)}, {"interval_seconds", in_seconds(rule.interval)},
          {"health", rule.health}, {"last_error", rule.last_error}, {"last_evaluation", to_json(rule.last_evaluation)}};
}

// The steps of its `remedy` as they were compiled, for "what would be tried".
json told_steps(const Settings& settings, const std::string& name) {
  auto out = json::array();
  Diagnostics ignored;
  for (const auto& group : settings.groups)
    for (const auto& rule : group.rules)
      if (rule.alert == name && rule.remedy)
        for (const auto& step : *rule.remedy)
          if (const auto remedy = remedies::compile(step, ignored)) out.push_back(remedy->describe());
  return out;
}

HttpResponse unknown_alert(const std::string& name, const std::vector<rules::RuleStatus>& rules) {
  std::vector<std::string_view> names;
  for (const auto& rule : rules)
    if (rule.alerting) names.emplace_back(rule.name);
  const auto hint = names.empty() ? std::string("no alerting rule is loaded") : did_you_mean(name, names);
  return failure(404, "not_found", fmt::format("there is no alerting rule '{}'; {}", printable(name, 64), hint));
}

}  // namespace

void api_status(Core& core, const HttpRequest&, const Answer& answer) {
  const auto now = core.loop.now();
  const auto& config = core.settings->config;
  const auto store = core.store.stats();
  auto listening = json::array();
  for (const auto& where : config.listen) listening.push_back(where.text);
  answer(success({{"version", RDMEND_VERSION},
                  {"ready", core.ready},
                  {"mode", core.executor.mode() == config::Mode::act ? "act" : "observe"},
                  {"mode_text", core.executor.mode_text(now)},
                  {"hand", core.hand.unavailable()},
                  {"started", to_json(core.started.wall)},
                  {"uptime_seconds", std::round(in_seconds(now.mono - core.started.mono) * 1000) / 1000},
                  {"config_file", core.settings->file},
                  {"last_reload", {{"good", core.last_reload.good}, {"text", core.last_reload.text}, {"at", to_json(core.last_reload.at)}}},
                  {"listening", std::move(listening)},
                  {"devices", devices_json(core)},
                  {"rules", rules_json(core)},
                  {"allowed_remedies", config.remedies.allow},
                  {"alertmanagers", alertmanagers_json(core)},
                  {"journal", {{"trouble", core.journal.trouble()}}},
                  {"breaker", {{"open", core.executor.breaker_open()}, {"text", core.executor.breaker_text()}}},
                  {"store",
                   {{"series", store.series}, {"points", store.points}, {"bytes", store.bytes}, {"max_bytes", config.store.max_bytes},
                    {"evicted_points", store.evicted_points}, {"rejected_points", store.rejected_points}}}}));
}

void api_qps(Core& core, const HttpRequest& request, const Answer& answer) {
  auto dumps = core.host.qps();
  if (request.parameter("deep").empty()) return answer(success({{"devices", dumps_json(core, dumps)}}));
  if (!request.control)
    return answer(failure(403, "forbidden", fmt::format("deep=1 is for the control socket only ({})", core.settings->config.control_socket)));
  look_deep(core, dumps, [answer, listed = dumps_json(core, dumps)](const std::vector<DeepAnswer>& answers) mutable {
    for (std::size_t i = 0; i < answers.size() && i < listed.size(); ++i) add_depth(listed[i], answers[i]);
    answer(success({{"devices", std::move(listed)}}));
  });
}

void api_remedies(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto limit = parse_limit(request, kUsualEntries, journal::Journal::kRecent);
  if (!limit) return answer(bad_limit(request));
  auto actions = json::array();
  for (const auto& action : core.executor.actions()) actions.push_back(action_json(action));
  auto entries = json::array();
  for (const auto& entry : core.journal.recent(*limit)) entries.push_back(to_json(entry));
  answer(success({{"actions", std::move(actions)}, {"entries", std::move(entries)}}));
}

void api_events(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto limit = parse_limit(request, kUsualEntries, EventRing::kMost);
  if (!limit) return answer(bad_limit(request));
  auto out = json::array();
  const auto& all = core.events.all();
  for (auto event = all.rbegin(); event != all.rend() && out.size() < *limit; ++event) out.push_back(to_json(*event));
  answer(success({{"events", std::move(out)}}));
}

void api_explain(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto& name = request.parameter("alert");
  const auto known = core.engine.status();
  auto rules = json::array();
  for (const auto& rule : known)
    if (rule.alerting && rule.name == name) rules.push_back(told_rule(rule));
  if (rules.empty()) return answer(unknown_alert(name, known));

  std::vector<Alert> alerts = core.engine.alerts();
  std::erase_if(alerts, [&](const Alert& alert) { return alert.rule != name; });
  auto told = json::array();
  for (const auto& alert : alerts) told.push_back(told_alert(alert));
  auto entries = json::array();
  for (const auto& entry : core.journal.recent(journal::Journal::kRecent))
    if (entry.rule == name) entries.push_back(to_json(entry));
  auto actions = json::array();
  for (const auto& action : core.executor.actions())
    if (action.rule == name) actions.push_back(action_json(action));
  auto events = json::array();
  for (const auto& event : core.events.all())
    if (concerns(event, alerts)) events.push_back(to_json(event));
  answer(success({{"alert", name}, {"rules", std::move(rules)}, {"steps", told_steps(*core.settings, name)}, {"alerts", std::move(told)},
                  {"entries", std::move(entries)}, {"actions", std::move(actions)}, {"events", std::move(events)},
                  {"mode_text", core.executor.mode_text(core.loop.now())}}));
}

}  // namespace rdmend::daemon
