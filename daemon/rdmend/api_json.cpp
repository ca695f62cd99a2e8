// SPDX-License-Identifier: Apache-2.0
#include "rdmend/api_json.hpp"

#include <charconv>
#include <cmath>
#include <ctime>

#include "base/text.hpp"

namespace rdmend::daemon {
namespace {

using nlohmann::json;

std::string written(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "Z", "+01:00", "-08:30"; the text behind a time, all of it.
std::optional<seconds> zone_offset(std::string_view text) {
  if (text == "Z" || text == "z") return seconds{0};
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  int hours = 0;
  int minutes = 0;
  if (std::from_chars(text.data() + 1, text.data() + 3, hours).ptr != text.data() + 3) return std::nullopt;
  if (std::from_chars(text.data() + 4, text.data() + 6, minutes).ptr != text.data() + 6) return std::nullopt;
  const seconds length = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return text[0] == '-' ? -length : length;
}

std::optional<Timestamp> parse_rfc3339(const std::string& text) {
  std::tm broken{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &broken);
  if (rest == nullptr) return std::nullopt;
  std::string_view behind(rest);
  milliseconds fraction{0};
  if (behind.starts_with('.')) {
    const auto digits = behind.find_first_not_of("0123456789", 1);
    const auto value = number("0" + std::string(behind.substr(0, digits)));
    if (!value || digits == 1) return std::nullopt;
    fraction = milliseconds{static_cast<std::int64_t>(*value * 1000)};
    behind = digits == std::string_view::npos ? std::string_view() : behind.substr(digits);
  }
  const auto offset = zone_offset(behind);
  if (!offset) return std::nullopt;
  return Timestamp{seconds{timegm(&broken)} - *offset + fraction};
}

}  // namespace

HttpResponse success(const json& data) { return {200, written({{"status", "success"}, {"data", data}})}; }

HttpResponse failure(int status, std::string_view type, std::string_view what) {
  return {status, written({{"status", "error"}, {"errorType", type}, {"error", what}})};
}

json to_json(const Labels& labels) {
  auto out = json::object();
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

json to_json(const Event& event) {
  return {{"at", to_json(event.at)}, {"device", event.device}, {"port", event.port}, {"kind", event.kind}, {"detail", event.detail}};
}

json to_json(const JournalEntry& entry) {
  return {{"id", entry.id},
          {"action", entry.action},
          {"at", to_json(entry.at)},
          {"rule", entry.rule},
          {"alert", to_json(entry.alert)},
          {"value", std::isfinite(entry.value) ? json(entry.value) : json(nullptr)},
          {"kind", entry.kind},
          {"target", entry.target},
          {"verdict", verdict_name(entry.verdict)},
          {"reason", entry.reason},
          {"figures", entry.figures}};
}

json to_json(Timestamp at) { return at == Timestamp{} ? json(nullptr) : json(format_timestamp(at)); }

double in_seconds(nanoseconds length) { return std::chrono::duration<double>(length).count(); }

std::optional<Timestamp> parse_time(std::string_view text) {
  // Beyond this milliseconds do not fit, and Prometheus does not go there either.
  constexpr double kFarthest = 9e15;
  // How clients written in Go put "from the beginning" and "to the end".
  if (text == "-292273086-05-16T16:47:06Z") return Timestamp{milliseconds{-static_cast<std::int64_t>(kFarthest)}};
  if (text == "292277025-08-18T07:12:54.999999999Z") return Timestamp{milliseconds{static_cast<std::int64_t>(kFarthest)}};
  if (const auto value = number(text)) {
    const auto ms = std::round(*value * 1000);
    if (std::abs(ms) > kFarthest) return std::nullopt;
    return Timestamp{milliseconds{static_cast<std::int64_t>(ms)}};
  }
  return text.size() > 64 ? std::nullopt : parse_rfc3339(std::string(text));
}

std::optional<milliseconds> parse_length(std::string_view text) {
  if (const auto value = number(text)) {
    constexpr double kLongest = 9'223'372'036;  // what fits into nanoseconds: Prometheus' own limit
    if (std::abs(*value) > kLongest) return std::nullopt;
    return milliseconds{static_cast<std::int64_t>(*value * 1000)};
  }
  return parse_duration(text);
}

std::optional<std::size_t> parse_limit(const HttpRequest& request, std::size_t fallback, std::size_t most) {
  const auto& text = request.parameter("limit");
  if (text.empty()) return fallback;
  std::size_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return std::min(value, most);
}

}  // namespace rdmend::daemon
