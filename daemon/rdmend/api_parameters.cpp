// SPDX-License-Identifier: Apache-2.0
#include "rdmend/api_parameters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "base/text.hpp"
#include "rdmend/api_json.hpp"

namespace rdmend::daemon {

Error parameter_error(std::string_view name, std::string_view what) { return {fmt::format("invalid parameter \"{}\": {}", name, what)}; }

namespace {

std::string no_time(const std::string& text) { return fmt::format("cannot parse \"{}\" to a valid timestamp", printable(text, 64)); }

}  // namespace

Result<Timestamp> time_parameter(const HttpRequest& request, std::string_view name) {
  const auto& text = request.parameter(name);
  if (const auto at = parse_time(text)) return *at;
  return parameter_error(name, no_time(text));
}

// Of a time that may be left out Prometheus says it twice.
Result<Timestamp> time_parameter(const HttpRequest& request, std::string_view name, Timestamp fallback) {
  const auto& text = request.parameter(name);
  if (text.empty()) return fallback;
  if (const auto at = parse_time(text)) return *at;
  return parameter_error(name, fmt::format("Invalid time value for '{}': {}", name, no_time(text)));
}

Result<milliseconds> duration_parameter(const HttpRequest& request, std::string_view name) {
  const auto& text = request.parameter(name);
  if (const auto length = parse_length(text)) return *length;
  return parameter_error(name, fmt::format("cannot parse \"{}\" to a valid duration", printable(text, 64)));
}

Result<std::size_t> limit_parameter(const HttpRequest& request) {
  const auto& text = request.parameter("limit");
  std::size_t value = 0;
  if (text.empty()) return std::numeric_limits<std::size_t>::max();
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return parameter_error("limit", fmt::format("\"{}\" is not a whole number", printable(text, 64)));
  return value == 0 ? std::numeric_limits<std::size_t>::max() : value;
}

HttpResponse bad_data(const Error& error) { return failure(400, "bad_data", error.message); }

}  // namespace rdmend::daemon
