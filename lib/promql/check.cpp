// SPDX-License-Identifier: Apache-2.0
#include "promql/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "promql/functions.hpp"

namespace rdmend::promql {
namespace {

bool is_value(const NodePtr& node) {
  return node->type == ValueType::scalar || node->type == ValueType::vector;
}

std::string hint_for(ValueType wanted, ValueType got) {
  if (wanted == ValueType::matrix && got == ValueType::vector)
    return "a range makes it one, as in x[5m] or (x + y)[5m:1m]";
  if (wanted == ValueType::vector && got == ValueType::matrix)
    return "leave the range out, or take a function of it, as in last_over_time(x[5m])";
  if (wanted == ValueType::vector && got == ValueType::scalar) return "vector(...) makes one of a scalar";
  if (wanted == ValueType::scalar && got == ValueType::vector)
    return "scalar(...) makes one of a vector with one element";
  return {};
}

void check_operand(const NodePtr& operand, Faults& faults) {
  if (is_value(operand)) return;
  faults.push_back(
      {operand->at,
       fmt::format("an operator takes scalars and instant vectors, not {}", described(operand->type)),
       operand->type == ValueType::matrix ? hint_for(ValueType::vector, operand->type) : ""});
}

void check_matching(const Binary& binary, Position at, Faults& faults) {
  const bool vectors = binary.left->type == ValueType::vector && binary.right->type == ValueType::vector;
  if (binary.has_matching && !vectors && !binary.labels.empty())
    faults.push_back(
        {at, "vector matching is only allowed between instant vectors", "leave 'on' or 'ignoring' out"});
  if (is_set_operator(binary.op)) {
    if (binary.group != Binary::Group::none)
      faults.push_back({at,
                        fmt::format("no grouping is allowed for '{}': set operations are always many-to-many",
                                    binary_op_text(binary.op)),
                        "leave group_left or group_right out"});
    if (!vectors && is_value(binary.left) && is_value(binary.right))
      faults.push_back(
          {at,
           fmt::format("set operator '{}' needs instant vectors on both sides", binary_op_text(binary.op)),
           "vector(...) makes one of a scalar"});
  }
  if (!binary.on) return;
  for (const auto& label : binary.include)
    if (std::binary_search(binary.labels.begin(), binary.labels.end(), label))
      faults.push_back(
          {at,
           fmt::format("label '{}' must not occur in 'on' and in group_left or group_right at once", label),
           ""});
}

}  // namespace

const char* described(ValueType type) {
  switch (type) {
    case ValueType::scalar:
      return "a scalar";
    case ValueType::string:
      return "a string";
    case ValueType::vector:
      return "an instant vector";
    case ValueType::matrix:
      break;
  }
  return "a range vector";
}

void check_unary(const Unary& unary, Position at, Faults& faults) {
  if (!is_value(unary.operand))
    faults.push_back({at,
                      fmt::format("a sign is only allowed before a scalar or an instant vector, not {}",
                                  described(unary.operand->type)),
                      ""});
}

void check_binary(const Binary& binary, Position operator_at, Faults& faults) {
  check_operand(binary.left, faults);
  check_operand(binary.right, faults);
  const bool scalars = binary.left->type == ValueType::scalar && binary.right->type == ValueType::scalar;
  if (binary.returns_bool && !is_comparison(binary.op))
    faults.push_back({operator_at,
                      fmt::format("'bool' can only follow a comparison, not '{}'", binary_op_text(binary.op)),
                      "leave 'bool' out"});
  if (is_comparison(binary.op) && scalars && !binary.returns_bool)
    faults.push_back({operator_at, "comparisons between scalars must use 'bool'",
                      fmt::format("write {} bool", binary_op_text(binary.op))});
  check_matching(binary, operator_at, faults);
}

void check_aggregate(const Aggregate& aggregate, Position at, Faults& faults) {
  const auto* name = aggregate_op_text(aggregate.op);
  if (aggregate.expression->type != ValueType::vector)
    faults.push_back({aggregate.expression->at,
                      fmt::format("'{}' aggregates an instant vector, not {}", name,
                                  described(aggregate.expression->type)),
                      hint_for(ValueType::vector, aggregate.expression->type)});
  if (!aggregate.parameter) return;
  const auto wanted = aggregate.op == AggregateOp::count_values ? ValueType::string : ValueType::scalar;
  if (aggregate.parameter->type != wanted)
    faults.push_back({aggregate.parameter->at,
                      fmt::format("the parameter of '{}' is {}, not {}", name, described(wanted),
                                  described(aggregate.parameter->type)),
                      hint_for(wanted, aggregate.parameter->type)});
  const auto& parameter = unparenthesised(*aggregate.parameter);
  if (const auto* label = std::get_if<StringLiteral>(&parameter.is); label != nullptr && label->value.empty())
    faults.push_back(
        {at, fmt::format("'{}' needs the name of a label", name), "as in count_values(\"version\", x)"});
}

void check_call(const Call& call, Position at, Faults& faults) {
  const auto& function = *call.function;
  const auto count = call.arguments.size();
  if (count < function.least || count > function.most) {
    const auto wanted = function.least == function.most ? fmt::format("{}", function.least)
                        : count < function.least        ? fmt::format("at least {}", function.least)
                                                        : fmt::format("at most {}", function.most);
    faults.push_back(
        {at, fmt::format("function '{}' takes {} argument(s), got {}", function.name, wanted, count), ""});
  }
  const auto known = std::min(function.most, function.arguments.size());
  for (std::size_t i = 0; i < std::min(count, function.most) && known > 0; ++i) {
    const auto wanted = function.arguments[std::min(i, known - 1)];
    const auto& argument = *call.arguments[i];
    if (argument.type != wanted)
      faults.push_back({argument.at,
                        fmt::format("argument {} of '{}' must be {}, not {}", i + 1, function.name,
                                    described(wanted), described(argument.type)),
                        hint_for(wanted, argument.type)});
  }
}

void check_selector(const VectorSelector& selector, Position at, Faults& faults) {
  const auto names = std::count_if(selector.matchers.begin(), selector.matchers.end(),
                                   [](const auto& m) { return m.name() == kMetricName; });
  if (!selector.name.empty()) {
    if (names > 1)
      faults.push_back(
          {at, fmt::format("the metric's name must not be set twice: '{}' and __name__", selector.name),
           "leave one out"});
    return;
  }
  if (std::all_of(selector.matchers.begin(), selector.matchers.end(),
                  [](const auto& m) { return m.matches(""); }))
    faults.push_back({at, "a selector must contain at least one matcher that does not match the empty string",
                      "give the metric's name"});
}

void check_subquery(const Subquery& subquery, Position at, Faults& faults) {
  if (subquery.expression->type != ValueType::vector)
    faults.push_back({at,
                      fmt::format("a subquery is only allowed on an instant vector, not {}",
                                  described(subquery.expression->type)),
                      hint_for(ValueType::vector, subquery.expression->type)});
}

}  // namespace rdmend::promql
