// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "promql/promql.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/api_parameters.hpp"

namespace rdmend::daemon {
namespace {

using nlohmann::json;

// An alert's value as Prometheus writes it there: "1e+00", and "NaN", "+Inf" as everywhere.
std::string exponent_value(double value) {
  if (!std::isfinite(value)) return promql::format_value(value);
  std::array<char, 64> text{};
  const auto [end, fault] = std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific);
  return fault == std::errc{} ? std::string(text.data(), end) : promql::format_value(value);
}

json alert_json(const Alert& alert) {
  json out{{"labels", to_json(alert.labels)},
           {"annotations", to_json(alert.annotations)},
           {"state", alert_state_name(alert.state)},
           {"activeAt", to_json(alert.active_at)},
           {"value", exponent_value(alert.value)}};
  if (alert.keep_firing_since != Timestamp{}) out["keepFiringSince"] = to_json(alert.keep_firing_since);
  return out;
}

bool active(const Alert& alert) { return alert.state != AlertState::inactive; }

json rule_json(const rules::RuleStatus& rule) {
  json out{{"name", rule.name},
           {"query", rule.query},
           {"health", rule.health},
           {"evaluationTime", in_seconds(rule.evaluation_time)},
           {"lastEvaluation", rule.last_evaluation == Timestamp{} ? json("0001-01-01T00:00:00Z") : to_json(rule.last_evaluation)},
           {"type", rule.alerting ? "alerting" : "recording"}};
  if (!rule.labels.empty() || rule.alerting) out["labels"] = to_json(rule.labels);
  if (!rule.last_error.empty()) out["lastError"] = rule.last_error;
  if (!rule.alerting) return out;
  auto state = AlertState::inactive;
  auto alerts = json::array();
  for (const auto& alert : rule.alerts) {
    if (!active(alert)) continue;
    state = std::max(state, alert.state);
    alerts.push_back(alert_json(alert));
  }
  out["state"] = alert_state_name(state);
  out["duration"] = in_seconds(rule.hold);
  out["keepFiringFor"] = in_seconds(rule.keep_firing_for);
  out["annotations"] = to_json(rule.annotations);
  out["alerts"] = std::move(alerts);
  return out;
}

std::size_t limit_of(const Settings& settings, const rules::RuleStatus& rule) {
  for (const auto& group : settings.groups)
    if (group.file == rule.file && group.name == rule.group) return group.limit;
  return 0;
}

// Adds `rule` to its group's object, which the group's first rule makes.
void add_rule(json& groups, const rules::RuleStatus& rule, const Settings& settings) {
  auto* group = &groups;
  for (auto& known : groups)
    if (known["name"] == rule.group && known["file"] == rule.file) group = &known;
  if (group == &groups) {
    groups.push_back({{"name", rule.group},
                      {"file", rule.file},
                      {"interval", in_seconds(rule.interval)},
                      {"limit", limit_of(settings, rule)},
                      {"rules", json::array()},
                      {"evaluationTime", 0.0},
                      {"lastEvaluation", "0001-01-01T00:00:00Z"}});
    group = &groups.back();
  }
  auto described = rule_json(rule);
  (*group)["evaluationTime"] = (*group)["evaluationTime"].get<double>() + in_seconds(rule.evaluation_time);
  (*group)["lastEvaluation"] = std::max((*group)["lastEvaluation"].get<std::string>(), described["lastEvaluation"].get<std::string>());
  (*group)["rules"].push_back(std::move(described));
}

}  // namespace

void api_rules(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto& type = request.parameter("type");
  if (!type.empty() && type != "alert" && type != "record")
    return answer(bad_data(parameter_error("type", fmt::format("not supported value \"{}\"", printable(type, 32)))));
  auto groups = json::array();
  for (const auto& rule : core.engine.status())
    if (type.empty() || (type == "alert") == rule.alerting) add_rule(groups, rule, *core.settings);
  answer(success({{"groups", std::move(groups)}}));
}

void api_alerts(Core& core, const HttpRequest&, const Answer& answer) {
  auto out = json::array();
  for (const auto& alert : core.engine.alerts())
    if (active(alert)) out.push_back(alert_json(alert));
  answer(success({{"alerts", std::move(out)}}));
}

}  // namespace rdmend::daemon
