// SPDX-License-Identifier: Apache-2.0
#include "rdmend/api_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace rdmend::daemon {
namespace {

// Seconds since the epoch with what there is of milliseconds: 1435781451.781, 1435781451.
void append_time(std::string& out, Timestamp at) {
  const auto ms = at.time_since_epoch().count();
  const auto whole = ms / 1000;
  const auto rest = ms % 1000 < 0 ? -(ms % 1000) : ms % 1000;
  if (ms < 0 && whole == 0) out += '-';
  fmt::format_to(std::back_inserter(out), "{}", whole);
  if (rest != 0) fmt::format_to(std::back_inserter(out), ".{:03}", rest);
}

void append_point(std::string& out, Timestamp at, double value) {
  out += '[';
  append_time(out, at);
  out += ",\"";
  out += promql::format_value(value);
  out += "\"]";
}

// "," between the elements of a list.
void separate(std::string& out, char opening) {
  if (out.back() != opening) out += ',';
}

void append_result(std::string& out, const promql::Vector& vector, Timestamp at) {
  out += '[';
  for (const auto& element : vector) {
    separate(out, '[');
    out += "{\"metric\":";
    append_json(out, element.labels);
    out += ",\"value\":";
    append_point(out, at, element.value);
    out += '}';
  }
  out += ']';
}

void append_result(std::string& out, const promql::Matrix& matrix, Timestamp) {
  out += '[';
  for (const auto& series : matrix) {
    separate(out, '[');
    out += "{\"metric\":";
    append_json(out, series.labels);
    out += ",\"values\":[";
    for (const auto& point : series.points) {
      separate(out, '[');
      append_point(out, point.at, point.value);
    }
    out += "]}";
  }
  out += ']';
}

void append_result(std::string& out, double value, Timestamp at) { append_point(out, at, value); }

void append_result(std::string& out, const std::string& text, Timestamp at) {
  out += '[';
  append_time(out, at);
  out += ',';
  append_json(out, text);
  out += ']';
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void append_json(std::string& out, const Labels& labels) {
  out += '{';
  for (const auto& [name, value] : labels) {
    separate(out, '{');
    append_json(out, name);
    out += ':';
    append_json(out, value);
  }
  out += '}';
}

std::string result_json(const promql::Value& value, Timestamp at) {
  auto out = fmt::format("{{\"resultType\":\"{}\",\"result\":", promql::value_type_name(static_cast<promql::ValueType>(value.index())));
  std::visit([&](const auto& result) { append_result(out, result, at); }, value);
  out += '}';
  return out;
}

HttpResponse success_text(std::string_view data, std::string_view warning) {
  std::string out = "{\"status\":\"success\",\"data\":";
  out += data;
  if (!warning.empty()) {
    out += ",\"warnings\":[";
    append_json(out, warning);
    out += ']';
  }
  out += "}\n";
  return {200, std::move(out)};
}

}  // namespace rdmend::daemon
