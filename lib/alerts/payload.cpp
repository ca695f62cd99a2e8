// SPDX-License-Identifier: Apache-2.0
#include "alerts/payload.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace rdmend::alerts {
namespace {

std::string url_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

nlohmann::json object(const Labels& labels) {
  auto out = nlohmann::json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

std::string generator_url(const Alert& alert, const std::string& external_url) {
  if (external_url.empty()) return {};
  std::string_view base = external_url;
  while (base.ends_with('/')) base.remove_suffix(1);
  const auto query = alert.query.empty() ? Labels{{"__name__", "ALERTS"}, {"alertname", alert.rule}}.text() : alert.query;
  return std::string(base) + "/api/v1/query?query=" + url_encoded(query);
}

}  // namespace

Labels merged_labels(const Labels& own, const Labels& external) {
  Labels out = own;
  for (const auto& [name, value] : external)
    if (own.get(name).empty()) out.set(name, value);
  return out;
}

std::string payload(const Alert& alert, const Envelope& envelope, Timestamp now) {
  const bool firing = alert.state == AlertState::firing;
  const auto ends = firing ? now + 4 * std::max(alert.interval, envelope.resend) : alert.resolved_at;
  nlohmann::json out;
  out["labels"] = object(merged_labels(alert.labels, envelope.external_labels));
  out["annotations"] = object(alert.annotations);
  out["startsAt"] = format_timestamp(alert.fired_at);
  out["endsAt"] = format_timestamp(ends);
  if (auto url = generator_url(alert, envelope.external_url); !url.empty()) out["generatorURL"] = std::move(url);
  // Label values come from drivers and processes: what is not UTF-8 is replaced, never thrown at.
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace rdmend::alerts
