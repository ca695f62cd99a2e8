// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/text.hpp"
#include "promql/lexer.hpp"
#include "promql/promql.hpp"

namespace rdmend::promql {

inline Timestamp at(double seconds_since_epoch) {
  return Timestamp{milliseconds{static_cast<std::int64_t>(std::llround(seconds_since_epoch * 1000))}};
}

// One value of a series' notation: 5, NaN, Inf, stale, _ (none), 1+2x3 (1 3 5 7), 4x3 (4 4 4 4).
inline void append_values(store::Store& store, const Labels& labels, std::string_view word, milliseconds step,
                          std::int64_t& index) {
  const auto put = [&](double value) { store.append(labels, Timestamp{step * index++}, value); };
  if (word == "stale") return put(stale_marker());
  const auto x = word.rfind('x');
  const auto times = x == std::string_view::npos ? 0 : std::stoi(std::string(word.substr(x + 1)));
  if (word.starts_with('_')) {
    index += x == std::string_view::npos ? 1 : times;
    return;
  }
  const auto number = word.substr(0, x);
  const auto sign = number.find_first_of("+-", 1);
  const bool steps = x != std::string_view::npos && sign != std::string_view::npos && number[sign - 1] != 'e';
  const auto value_of = [](std::string_view text) {
    const bool minus = text.starts_with('-');
    const double value = *parse_number(text.substr(minus || text.starts_with('+') ? 1 : 0));
    return minus ? -value : value;
  };
  const double start = value_of(number.substr(0, steps ? sign : number.size()));
  const double by = steps ? value_of(number.substr(sign)) : 0;
  for (int i = 0; i <= times; ++i) put(start + by * i);
}

// Series, one a line: requests{path="/foo"} 0+10x10 _ 3 stale; the first value at the epoch, `step` between
// values.
inline void load(store::Store& store, milliseconds step, std::string_view series) {
  for (const auto raw : split(series, '\n')) {
    const auto line = trim(raw);
    if (line.empty()) continue;
    const auto close = line.find('}');
    const auto end = close == std::string_view::npos ? line.find(' ') : close + 1;
    const auto parsed = parse(line.substr(0, end));
    if (!std::holds_alternative<Expression>(parsed)) throw std::runtime_error(std::string(line));
    Labels labels;
    const auto selectors = std::get<Expression>(parsed).selectors();
    for (const auto& matcher : selectors.at(0)) labels.set(matcher.name(), matcher.value());
    std::int64_t index = 0;
    for (const auto word : split(trim(line.substr(end)), ' '))
      if (!word.empty()) append_values(store, labels, word, step, index);
  }
}

inline std::string faults(const std::vector<ParseError>& list) {
  std::string out;
  for (const auto& f : list)
    out += fmt::format("{}:{}: {}{}{}\n", f.at.line, f.at.column, f.what, f.hint.empty() ? "" : "; ", f.hint);
  return out;
}

inline std::string shown(const Value& value) {
  if (const auto* scalar = std::get_if<double>(&value)) return format_value(*scalar);
  if (const auto* text = std::get_if<std::string>(&value)) return quote(*text);
  std::string out;
  if (const auto* vector = std::get_if<Vector>(&value)) {
    for (const auto& element : *vector)
      out += fmt::format("{} {}\n", element.labels.text(), format_value(element.value));
    return out;
  }
  for (const auto& series : std::get<Matrix>(value)) {
    out += series.labels.text();
    for (const auto& point : series.points)
      out += fmt::format(" {}@{}", format_value(point.value),
                         static_cast<double>(point.at.time_since_epoch().count()) / 1000);
    out += "\n";
  }
  return out;
}

inline Limits patient() {
  Limits limits;
  limits.timeout = std::chrono::minutes{1};  // sanitizers and a busy machine are slow
  return limits;
}

// The value of the expression, a line an element, or what is wrong with it.
inline std::string run(const store::Store& store, std::string_view text, double when,
                       const Limits& limits = patient()) {
  const auto parsed = parse(text);
  if (const auto* list = std::get_if<std::vector<ParseError>>(&parsed)) return faults(*list);
  const auto value = evaluate(std::get<Expression>(parsed), store, at(when), limits);
  return value ? shown(*value) : "error: " + value.error().message;
}

inline std::string run_range(const store::Store& store, std::string_view text, double start, double end,
                             double step, const Limits& limits = patient()) {
  const auto parsed = parse(text);
  if (const auto* list = std::get_if<std::vector<ParseError>>(&parsed)) return faults(*list);
  const auto value = evaluate_range(std::get<Expression>(parsed), store, at(start), at(end),
                                    at(step).time_since_epoch(), limits);
  return value ? shown(Value(*value)) : "error: " + value.error().message;
}

}  // namespace rdmend::promql
