// SPDX-License-Identifier: Apache-2.0
#include "rdmend/for_state.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace rdmend::daemon {
namespace {

using nlohmann::json;

std::int64_t number(Timestamp at) { return at.time_since_epoch().count(); }
Timestamp time_of(const json& in, const char* name) { return Timestamp{milliseconds{in.at(name).get<std::int64_t>()}}; }

AlertState state_of(const json& in) {
  for (const auto state : {AlertState::inactive, AlertState::pending, AlertState::firing})
    if (in.at("state") == alert_state_name(state)) return state;
  throw json::other_error::create(501, "no alert state", nullptr);
}

Labels labels_of(const json& in) {
  std::vector<Labels::Pair> labels;
  for (const auto& pair : in) labels.emplace_back(pair.at(0), pair.at(1));
  return Labels(std::move(labels));
}

json pairs(const Labels& labels) {
  auto out = json::array();
  for (const auto& [name, value] : labels) out.push_back({name, value});
  return out;
}

// JSON has no NaN and no infinity: null stands for them.
json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

rules::SavedAlert alert_of(const json& in) {
  rules::SavedAlert out;
  out.group = in.at("group");
  out.rule = in.at("rule");
  out.labels = labels_of(in.at("labels"));
  out.annotations = labels_of(in.at("annotations"));
  out.value = in.at("value").is_null() ? std::numeric_limits<double>::quiet_NaN() : in.at("value").get<double>();
  out.state = state_of(in);
  out.active_at = time_of(in, "active_at");
  out.fired_at = time_of(in, "fired_at");
  out.keep_firing_since = time_of(in, "keep_firing_since");
  out.saved_at = time_of(in, "saved_at");
  return out;
}

}  // namespace

std::string write_for_state(std::span<const rules::SavedAlert> saved) {
  auto alerts = json::array();
  for (const auto& alert : saved)
    alerts.push_back({{"group", alert.group},
                      {"rule", alert.rule},
                      {"labels", pairs(alert.labels)},
                      {"annotations", pairs(alert.annotations)},
                      {"value", finite(alert.value)},
                      {"state", alert_state_name(alert.state)},
                      {"active_at", number(alert.active_at)},
                      {"fired_at", number(alert.fired_at)},
                      {"keep_firing_since", number(alert.keep_firing_since)},
                      {"saved_at", number(alert.saved_at)}});
  return json{{"version", 1}, {"alerts", std::move(alerts)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<rules::SavedAlert>> read_for_state(const std::string& text) {
  std::vector<rules::SavedAlert> out;
  if (text.empty()) return out;
  try {
    const auto document = json::parse(text);
    for (const auto& alert : document.at("alerts")) out.push_back(alert_of(alert));
  } catch (const json::exception& fault) {
    return Error{std::string("the saved state of the alerts: ") + fault.what()};
  }
  return out;
}

}  // namespace rdmend::daemon
