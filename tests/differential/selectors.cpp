// SPDX-License-Identifier: Apache-2.0
// Selectors, their matchers and modifiers, ranges and subqueries.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/text.hpp"
#include "differential/answer.hpp"
#include "differential/generate.hpp"

namespace rdmend::differential {
namespace {

constexpr milliseconds kStep{500};

// Regular expressions that match some of a label's values, and some that match none or all.
const std::vector<std::string>& patterns(const std::string& label) {
  static const std::map<std::string, std::vector<std::string>> kPatterns{
      {"device", {"rxe.*", "mlx5_[0-9]", "rxe1|mlx5_0", "(?i)RXE1", ".x.*", "a .*", R"(\w+)", "xe1", "[^m].*"}},
      {"port", {"1", "[12]", "1|2", R"(\d)", "2?", "(1|3)"}}};
  static const std::vector<std::string> kAny{".+", ".*", "", "[a-z0-9]+", "0|a|eth0|rxe", "(b|eth1|mlx5)", "nothing"};
  const auto found = kPatterns.find(label);
  return found == kPatterns.end() ? kAny : found->second;
}

}  // namespace

std::string Generator::duration(milliseconds length) {
  if (length.count() % 60'000 == 0 && rng_.chance(20)) return fmt::format("{}s", length.count() / 1000);
  return format_duration(length);
}

std::string Generator::matcher(const std::string& label) {
  const bool regex = rng_.chance(45);
  const bool negative = rng_.chance(35);
  const std::string op = regex ? (negative ? "!~" : "=~") : (negative ? "!=" : "=");
  note("matcher " + op);
  std::string value = regex ? rng_.pick(patterns(label)) : rng_.pick(label_values(label));
  if (rng_.chance(4)) value = "";
  return label + (rng_.chance(10) ? " " + op + " " : op) + string_literal(value);
}

std::string Generator::matchers(const Metric& metric) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : rng_.chance(50) ? "," : ", ") + one; };
  for (const std::string& label : metric.labels)
    if (rng_.chance(metric.labels.size() > 2 ? 30 : 22)) add(matcher(label));
  if (rng_.chance(4)) add(matcher("no_such_label"));
  if (!text.empty() && rng_.chance(8)) text += ",";
  return text;
}

// `fixed`: an @ makes the time of evaluation that of a query again.
std::string Generator::modifiers(bool& fixed) {
  std::string offset, at;
  if (rng_.chance(22)) {
    const bool negative = rng_.chance(30);
    note(negative ? "modifier offset -" : "modifier offset");
    const milliseconds length = kStep * rng_.between(1, negative ? 600 : 3000);
    offset = " " + keyword("offset") + (negative ? " -" : " ") + duration(length);
  }
  if (!no_at_ && rng_.chance(12)) {
    fixed = true;
    const std::size_t which = rng_.below(4);
    if (which == 0) at = " @ start()";
    if (which == 1) at = " @ end()";
    note(which == 0 ? "modifier @ start()" : which == 1 ? "modifier @ end()" : "modifier @ time");
    const auto steps = (kQueryEnd - kQueryBegin) / kStep;
    const milliseconds time = (kQueryBegin + kStep * rng_.between(0, steps)).time_since_epoch() + milliseconds{250};
    if (at.empty()) at = fmt::format(" @ {}.{:03}", time.count() / 1000, time.count() % 1000);
  }
  return rng_.chance(50) ? offset + at : at + offset;
}

Piece Generator::selector(Need need, bool distinct) {
  const auto usable = [&](const Metric& metric) {
    return (!need.exact || metric.exact()) && (!need.finite || metric.finite()) && (!distinct || metric.distinct());
  };
  const Metric* metric = &rng_.pick(metrics());
  while (!usable(*metric)) metric = &rng_.pick(metrics());
  note("selector instant");
  const std::string inside = matchers(*metric);
  Piece piece{metric->name, {metric->exact(), metric->finite(), metric->distinct()}, metric->labels};
  if (!inside.empty() || rng_.chance(5)) piece.text += "{" + inside + "}";
  const std::string others = inside.empty() ? "" : ", " + inside;
  if (!distinct && rng_.chance(6)) {
    note("matcher __name__ =");
    piece.text = "{__name__=" + string_literal(metric->name) + others + "}";
  } else if (!distinct && metric->labels.size() == 2 && rng_.chance(6)) {
    note("matcher __name__ =~");
    piece.text = "{__name__=~" + string_literal(metric->name + "|temperature|state") + others + "}";
    piece.traits.distinct = false;
  }
  bool fixed = false;
  piece.text += modifiers(fixed);
  return piece;
}

Generator::Range Generator::range_selector(bool of_counter, Need need) {
  const auto usable = [&](const Metric& metric) {
    return (!of_counter || metric.rates()) && (!need.exact || metric.exact()) && (!need.finite || metric.finite());
  };
  const Metric* metric = &rng_.pick(metrics());
  while (!usable(*metric)) metric = &rng_.pick(metrics());
  note("selector range");
  std::string text = metric->name;
  if (const std::string inside = matchers(*metric); !inside.empty()) text += "{" + inside + "}";
  const milliseconds length = kStep * (rng_.chance(75) ? rng_.between(60, 1200) : rng_.between(1, 2400));
  text += "[" + duration(length) + "]";
  bool fixed = false;
  text += modifiers(fixed);
  return {text, {metric->exact(), metric->finite(), false}, metric->labels};
}

Generator::Range Generator::subquery(int depth, bool of_counter, Need need) {
  bool fixed = false;
  const std::string after = modifiers(fixed);
  const bool query_time = fixed || subqueries_ == 0;
  const bool nested = subqueries_ > 0;
  if (nested) note("subquery in subquery");
  ++subqueries_;
  Piece inner{};
  if (of_counter) {
    std::vector<const Metric*> steady;
    for (const Metric& metric : metrics())
      if (metric.steady()) steady.push_back(&metric);
    const Metric& metric = *rng_.pick(steady);
    note("selector instant");
    inner = {metric.name, {}, metric.labels};
    if (const std::string inside = matchers(metric); !inside.empty()) inner.text += "{" + inside + "}";
  } else {
    inner = vector(nested ? 0 : std::max(1, depth - 1), need);
  }
  --subqueries_;
  milliseconds length = kStep * rng_.between(20, nested ? 400 : 1600) + (query_time ? milliseconds{0} : milliseconds{250});
  std::string step;
  milliseconds resolution = kSubqueryStep;
  if (rng_.chance(75)) {
    resolution = nested ? milliseconds{seconds{rng_.between(5, 60)}} : kStep * rng_.between(9, 200);
    step = duration(resolution);
  }
  // Without any step in it Prometheus 2 answers from beyond its end, where `@` makes the inside the same at all times.
  if (length < resolution) length += resolution;
  note(step.empty() ? "subquery without step" : "subquery with step");
  return {operand(inner) + "[" + duration(length) + ":" + step + "]" + after, inner.traits, inner.labels};
}

Generator::Range Generator::range(int depth, bool of_counter, Need need) {
  return depth > 0 && rng_.chance(subqueries_ > 0 ? 40 : 25) ? subquery(depth, of_counter, need) : range_selector(of_counter, need);
}

std::string Generator::matrix(int depth) { return range(depth, false, {}).text; }

}  // namespace rdmend::differential
