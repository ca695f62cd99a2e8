// SPDX-License-Identifier: Apache-2.0
#include "promql/ast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "promql/format.hpp"
#include "promql/functions.hpp"
#include "promql/lexer.hpp"

namespace rdmend::promql {
namespace {

std::string text_of(const Node& node);

std::string text_of(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Inf" : "-Inf";
  return format_plain(number);
}

std::string text_of(const TimeModifiers& when) {
  std::string out;
  switch (when.anchor) {
    case TimeModifiers::Anchor::none:
      break;
    case TimeModifiers::Anchor::timestamp:
      out = fmt::format(" @ {:.3f}", static_cast<double>(when.at.time_since_epoch().count()) / 1000);
      break;
    case TimeModifiers::Anchor::start:
      out = " @ start()";
      break;
    case TimeModifiers::Anchor::end:
      out = " @ end()";
      break;
  }
  if (when.has_offset) out += " offset " + format_duration(when.offset);
  return out;
}

const char* op_text(store::Matcher::Op op) {
  constexpr std::array<const char*, 4> kTexts{"=", "!=", "=~", "!~"};
  return kTexts[static_cast<std::size_t>(op)];
}

std::string bare_text(const VectorSelector& selector) {
  std::string inner;
  for (const auto& matcher : selector.matchers) {
    if (!selector.name.empty() && matcher.name() == kMetricName) continue;
    inner += fmt::format("{}{}{}{}", inner.empty() ? "" : ",", matcher.name(), op_text(matcher.op()),
                         quote(matcher.value()));
  }
  return inner.empty() && !selector.name.empty() ? selector.name
                                                 : fmt::format("{}{{{}}}", selector.name, inner);
}

std::string list(const std::vector<std::string>& labels) {
  return fmt::format("({})", fmt::join(labels, ", "));
}

struct Printer {
  std::string operator()(const NumberLiteral& number) const { return text_of(number.value); }
  std::string operator()(const StringLiteral& string) const { return quote(string.value); }
  std::string operator()(const VectorSelector& selector) const {
    return bare_text(selector) + text_of(selector.when);
  }
  std::string operator()(const MatrixSelector& matrix) const {
    return fmt::format("{}[{}]{}", bare_text(matrix.selector), format_duration(matrix.range),
                       text_of(matrix.selector.when));
  }
  std::string operator()(const Subquery& subquery) const {
    const auto step = subquery.step.count() > 0 ? format_duration(subquery.step) : std::string();
    return fmt::format("{}[{}:{}]{}", text_of(*subquery.expression), format_duration(subquery.range), step,
                       text_of(subquery.when));
  }
  std::string operator()(const Paren& paren) const { return fmt::format("({})", text_of(*paren.expression)); }
  std::string operator()(const Unary& unary) const {
    return (unary.negative ? "-" : "+") + text_of(*unary.operand);
  }
  std::string operator()(const Binary& binary) const {
    std::string matching = binary.returns_bool ? " bool" : "";
    if (binary.has_matching) matching += (binary.on ? " on " : " ignoring ") + list(binary.labels);
    if (binary.group != Binary::Group::none)
      matching +=
          (binary.group == Binary::Group::left ? " group_left " : " group_right ") + list(binary.include);
    return fmt::format("{} {}{} {}", text_of(*binary.left), binary_op_text(binary.op), matching,
                       text_of(*binary.right));
  }
  std::string operator()(const Aggregate& aggregate) const {
    const auto grouping =
        aggregate.has_grouping
            ? fmt::format(" {} {} ", aggregate.without ? "without" : "by", list(aggregate.labels))
            : "";
    const auto parameter = aggregate.parameter ? text_of(*aggregate.parameter) + ", " : "";
    return fmt::format("{}{}({}{})", aggregate_op_text(aggregate.op), grouping, parameter,
                       text_of(*aggregate.expression));
  }
  std::string operator()(const Call& call) const {
    std::vector<std::string> arguments;
    for (const auto& argument : call.arguments) arguments.push_back(text_of(*argument));
    return fmt::format("{}({})", call.function->name, fmt::join(arguments, ", "));
  }
};

std::string text_of(const Node& node) {
  return std::visit(Printer{}, node.is);
}

std::vector<const Node*> children(const Node& node) {
  std::vector<const Node*> out;
  const auto add = [&](const NodePtr& child) {
    if (child) out.push_back(child.get());
  };
  if (const auto* subquery = std::get_if<Subquery>(&node.is)) add(subquery->expression);
  if (const auto* paren = std::get_if<Paren>(&node.is)) add(paren->expression);
  if (const auto* unary = std::get_if<Unary>(&node.is)) add(unary->operand);
  if (const auto* binary = std::get_if<Binary>(&node.is)) {
    add(binary->left);
    add(binary->right);
  }
  if (const auto* aggregate = std::get_if<Aggregate>(&node.is)) {
    add(aggregate->parameter);
    add(aggregate->expression);
  }
  if (const auto* call = std::get_if<Call>(&node.is))
    for (const auto& argument : call->arguments) add(argument);
  return out;
}

// How far before the time of evaluation the node reads; `@` fixes a time and is not counted.
milliseconds reach_of(const Node& node) {
  milliseconds most{0};
  for (const auto* child : children(node)) most = std::max(most, reach_of(*child));
  if (const auto* selector = std::get_if<VectorSelector>(&node.is))
    most = selector->when.offset + Limits{}.look_back;
  if (const auto* matrix = std::get_if<MatrixSelector>(&node.is))
    most = matrix->selector.when.offset + matrix->range;
  if (const auto* subquery = std::get_if<Subquery>(&node.is)) most += subquery->when.offset + subquery->range;
  return std::max(most, milliseconds{0});
}

}  // namespace

const char* value_type_name(ValueType type) {
  constexpr std::array<const char*, 4> kNames{"scalar", "string", "vector", "matrix"};
  return kNames[static_cast<std::size_t>(type)];
}

const char* binary_op_text(BinaryOp op) {
  constexpr std::array<const char*, 15> kTexts{
      "+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", "unless"};
  return kTexts[static_cast<std::size_t>(op)];
}

const char* aggregate_op_text(AggregateOp op) {
  constexpr std::array<const char*, 12> kTexts{"sum",   "min",     "max",      "avg",
                                               "count", "group",   "stddev",   "stdvar",
                                               "topk",  "bottomk", "quantile", "count_values"};
  return kTexts[static_cast<std::size_t>(op)];
}

const Node& unparenthesised(const Node& node) {
  const Node* at = &node;
  while (const auto* paren = std::get_if<Paren>(&at->is)) at = paren->expression.get();
  return *at;
}

void walk(const Node& node, const std::function<void(const Node&)>& visit) {
  visit(node);
  for (const auto* child : children(node)) walk(*child, visit);
}

Expression::Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

ValueType Expression::type() const {
  return root_->type;
}

std::string Expression::text() const {
  return text_of(*root_);
}

std::vector<std::vector<store::Matcher>> Expression::selectors() const {
  std::vector<std::vector<store::Matcher>> out;
  walk(*root_, [&](const Node& node) {
    if (const auto* selector = std::get_if<VectorSelector>(&node.is)) out.push_back(selector->matchers);
    if (const auto* matrix = std::get_if<MatrixSelector>(&node.is)) out.push_back(matrix->selector.matchers);
  });
  return out;
}

milliseconds Expression::reach() const {
  return reach_of(*root_);
}

}  // namespace rdmend::promql
