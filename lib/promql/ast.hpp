// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "promql/promql.hpp"

namespace rdmend::promql {

using NodePtr = std::shared_ptr<const Node>;

struct NumberLiteral {
  double value = 0;
};
struct StringLiteral {
  std::string value;
};

// `offset` and `@` of a selector or a subquery.
struct TimeModifiers {
  enum class Anchor { none, timestamp, start, end };
  milliseconds offset{0};
  Anchor anchor = Anchor::none;
  Timestamp at{};  // of Anchor::timestamp
  bool has_offset = false;
};
struct VectorSelector {
  std::string name;                      // before the braces, "" without one
  std::vector<store::Matcher> matchers;  // the name's too
  TimeModifiers when;
};
// A selector's points of the last `range`; the modifiers are the selector's.
struct MatrixSelector {
  VectorSelector selector;
  milliseconds range{0};
};
struct Subquery {
  NodePtr expression;
  milliseconds range{0};
  milliseconds step{0};  // 0: the default of Limits
  TimeModifiers when;
};
struct Paren {
  NodePtr expression;
};
struct Unary {
  bool negative = false;
  NodePtr operand;
};

enum class BinaryOp {
  add,
  sub,
  mul,
  div,
  mod,
  pow,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  and_,
  or_,
  unless
};
const char* binary_op_text(BinaryOp op);
inline bool is_comparison(BinaryOp op) {
  return op >= BinaryOp::equal && op <= BinaryOp::greater_equal;
}
inline bool is_set_operator(BinaryOp op) {
  return op >= BinaryOp::and_;
}

struct Binary {
  enum class Group { none, left, right };
  BinaryOp op = BinaryOp::add;
  NodePtr left, right;
  bool returns_bool = false;
  bool has_matching = false;  // `on` or `ignoring` was given
  bool on = false;
  std::vector<std::string> labels;   // of on or ignoring, sorted
  Group group = Group::none;         // which side is the "many" side
  std::vector<std::string> include;  // of group_left or group_right
};

enum class AggregateOp {
  sum,
  min,
  max,
  avg,
  count,
  group,
  stddev,
  stdvar,
  topk,
  bottomk,
  quantile,
  count_values
};
const char* aggregate_op_text(AggregateOp op);

struct Aggregate {
  AggregateOp op = AggregateOp::sum;
  NodePtr expression;
  NodePtr parameter;  // of topk, bottomk, quantile, count_values
  bool without = false;
  bool has_grouping = false;
  std::vector<std::string> labels;  // sorted
};

struct Function;  // functions.hpp
struct Call {
  const Function* function = nullptr;
  std::vector<NodePtr> arguments;
};

// One node of an expression, immutable once it is made. `at` is its first character, 1-based.
struct Node {
  Position at;
  ValueType type = ValueType::scalar;
  std::size_t depth = 1;  // of the tree below it: bounded, since evaluation recurses
  std::variant<NumberLiteral, StringLiteral, VectorSelector, MatrixSelector, Subquery, Paren, Unary, Binary,
               Aggregate, Call>
      is;
};

// The node inside any number of parentheses.
const Node& unparenthesised(const Node& node);
// Calls `visit` for every node, parents first, in text order.
void walk(const Node& node, const std::function<void(const Node&)>& visit);

}  // namespace rdmend::promql
