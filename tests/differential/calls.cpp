// SPDX-License-Identifier: Apache-2.0
// Functions and aggregations.
#include <fmt/format.h>

#include <algorithm>

#include "differential/generate.hpp"

namespace rdmend::differential {

Piece Generator::apply(const Function& function, int depth, Need need) {
  note("function " + function.name);
  // Where these compensate their sums, Prometheus 2 takes one that overflows for NaN, 3 for infinity.
  const bool compensates = function.name.starts_with("std") || function.name == "deriv" || function.name == "predict_linear";
  const Need inner{need.exact || function.jumps, need.finite || compensates};
  const auto open = function.name + "(";
  const auto of_vector = [&](const std::string& rest) {
    Piece argument = vector(depth - 1, inner);
    return Piece{open + argument.text + rest + ")", {argument.traits.exact && function.exact, argument.traits.finite, false}, argument.labels};
  };
  const auto of_range = [&](const std::string& before, const std::string& rest) {
    const bool outer = std::exchange(no_at_, no_at_ || function.arguments == Arguments::matrix_scalar);
    const Range argument = range(depth, function.arguments == Arguments::rate, inner);
    no_at_ = outer;
    return Piece{open + before + argument.text + rest + ")", {argument.traits.exact && function.exact, argument.traits.finite, false}, argument.labels};
  };
  switch (function.arguments) {
    case Arguments::vector: return of_vector("");
    case Arguments::vector_opt_scalar: return of_vector(rng_.chance(50) ? "" : ", " + rng_.pick(std::vector<std::string>{"5", "0.25", "10", "2"}));
    case Arguments::vector_scalar: return of_vector(", " + scalar(depth - 1, need.exact).text);
    case Arguments::vector_2_scalars: return of_vector(", " + scalar(0, need.exact).text + ", " + scalar(0, need.exact).text);
    case Arguments::rate:
    case Arguments::matrix: return of_range("", "");
    case Arguments::scalar_matrix: return of_range(rng_.pick(std::vector<std::string>{"0.5, ", "0.9, ", "0, ", "1, ", "-0.5, ", "1.5, ", "0.123, "}), "");
    case Arguments::matrix_scalar: return of_range("", ", " + rng_.pick(std::vector<std::string>{"60", "-30", "3600", "0", "0.5"}));
    case Arguments::replace: return replace(depth, need);
    case Arguments::join: return join(depth, need);
    case Arguments::none:
    case Arguments::scalar:
    case Arguments::to_scalar:
    case Arguments::sort: break;
  }
  // time() and scalar() are made by scalar(); here they come as vector(s).
  note("function vector");
  const Piece argument = scalar(depth - 1, need.exact);
  return {"vector(" + argument.text + ")", argument.traits, {}};
}

Piece Generator::call(int depth, Need need) {
  const Function* function = &rng_.pick(functions());
  while (function->arguments == Arguments::sort || function->arguments == Arguments::none || function->arguments == Arguments::to_scalar)
    function = &rng_.pick(functions());
  Piece piece = apply(*function, depth, need);
  // Infinity and NaN come out of these whatever goes in.
  if (function->name == "exp" || function->name == "ln" || function->name == "log2" || function->name == "log10" || function->name == "sqrt" ||
      function->name == "quantile_over_time" || function->name == "round" || function->name.starts_with("clamp"))
    piece.traits.finite = false;
  // So large that the deviation of a few depends on their order.
  if (function->name == "timestamp") piece.traits.exact = false;
  if (function->name.starts_with("absent")) piece.labels.clear();
  return piece;
}

Piece Generator::replace(int depth, Need need) {
  Piece argument = vector(depth - 1, need);
  static const std::vector<std::string> kTargets{"device", "port", "made", "host"};
  static const std::vector<std::string> kResults{"$1", "x-$1", "${1}_y", "", "$$", "$2", "$name", "fixed"};
  static const std::vector<std::string> kPatterns{"(.*)", "(r|m)(.*)", "(?P<name>[a-z]+).*", "1", "nothing", "", "(.+)"};
  const std::string target = rng_.pick(kTargets);
  note("literal string");
  argument.text = fmt::format("label_replace({}, {}, {}, {}, {})", argument.text, string_literal(target), string_literal(rng_.pick(kResults)),
                              string_literal(rng_.pick(kTargets)), string_literal(rng_.pick(kPatterns)));
  argument.atom = true;
  argument.traits.distinct = false;
  if (std::ranges::find(argument.labels, target) == argument.labels.end()) argument.labels.push_back(target);
  return argument;
}

Piece Generator::join(int depth, Need need) {
  Piece argument = vector(depth - 1, need);
  static const std::vector<std::string> kSources{"device", "port", "host", "no_such_label", "__name__"};
  std::string sources;
  for (std::size_t count = rng_.below(4); count > 0; --count) sources += ", " + string_literal(rng_.pick(kSources));
  note("literal string");
  argument.text = fmt::format("label_join({}, {}, {}{})", argument.text, string_literal("made"), string_literal(rng_.chance(50) ? "-" : ""), sources);
  argument.atom = true;
  argument.traits.distinct = false;
  argument.labels.emplace_back("made");
  return argument;
}

std::string Generator::grouping(const std::vector<std::string>& labels, std::vector<std::string>& kept) {
  if (rng_.chance(20)) {
    kept.clear();
    return "";
  }
  std::vector<std::string> named = some_of(labels);
  if (rng_.chance(5)) named.emplace_back("no_such_label");
  const bool without = rng_.chance(35);
  note(without ? "grouping without" : "grouping by");
  kept = named;
  if (without) {
    kept = labels;
    std::erase_if(kept, [&](const std::string& label) { return std::ranges::find(named, label) != named.end(); });
  }
  return keyword(without ? "without" : "by") + (rng_.chance(50) ? " " : "") + "(" + list(named) + ")";
}

// topk and bottomk: of series that never tie, for which of two equal ones is kept is nobody's promise; and never of NaN
// series, which 3 refuses and 2 does not.
Piece Generator::limited(const Aggregation& aggregation) {
  Piece argument = selector({true, true}, true);
  std::vector<std::string> kept;
  const std::string groups = grouping(argument.labels, kept);
  const std::string count = rng_.pick(std::vector<std::string>{"1", "2", "3", "5", "0", "-1", "2.7", "scalar(vector(2))"});
  const std::string body = "(" + count + ", " + argument.text + ")";
  argument.text = keyword(aggregation.name) + (rng_.chance(50) ? " " + groups + body : body + " " + groups);
  argument.atom = true;
  return argument;
}

Piece Generator::aggregate(int depth, Need need) {
  const Aggregation& aggregation = rng_.pick(aggregations());
  note("aggregation " + aggregation.name);
  if (aggregation.parameter == Parameter::count) return limited(aggregation);
  // Prometheus 2 takes the deviation of infinity for 0, 3 for NaN.
  const bool deviation = aggregation.name.starts_with("std");
  Piece argument = vector(depth - 1, {need.exact || deviation || aggregation.parameter == Parameter::text, need.finite || deviation});
  std::vector<std::string> kept;
  const std::string groups = grouping(argument.labels, kept);
  std::string before;
  if (aggregation.parameter == Parameter::quantile) before = rng_.pick(std::vector<std::string>{"0.5, ", "0.99, ", "0, ", "1, ", "-1, ", "2, "});
  if (aggregation.parameter == Parameter::text) {
    note("literal string");
    // The last name in order: Prometheus 2 loses a label of `by` at every further step where the new one sorts before it.
    before = string_literal("value") + ", ";
    kept.emplace_back("value");
  }
  const std::string body = "(" + before + argument.text + ")";
  const bool first = rng_.chance(50);
  Piece piece{keyword(aggregation.name) + (first ? " " + groups + body : body + (groups.empty() ? "" : " ") + groups), argument.traits, kept};
  piece.traits.exact = argument.traits.exact && aggregation.exact;
  piece.traits.distinct = false;
  if (aggregation.parameter == Parameter::quantile) piece.traits.finite = false;
  return piece;
}

Piece Generator::top_sort() {
  const bool descending = rng_.chance(50);
  note(descending ? "function sort_desc" : "function sort");
  Piece argument = vector(1, {true, false});
  argument.text = std::string{descending ? "sort_desc(" : "sort("} + argument.text + ")";
  return argument;
}

}  // namespace rdmend::differential
