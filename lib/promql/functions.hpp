// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

#include "promql/ast.hpp"
#include "promql/block.hpp"

namespace rdmend::promql {

class Evaluator;
struct Frame;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// What a function over a range vector sees of one series at one step. Never empty.
struct Window {
  std::span<const store::Point> points;
  Timestamp from{}, to{};  // the range, (from, to]
  Timestamp now{};         // the step's time, which `offset` and `@` do not move
  double argument = 0;     // the scalar argument, of those that have one
};
// Both leave the series out of the result where they return false.
using RangeFunction = bool (*)(const Window& window, double& result);
using ValueFunction = bool (*)(double value, std::span<const double> arguments, double& result);
// All else: sees its arguments unevaluated.
using NodeFunction = Block (*)(Evaluator& evaluator, const Call& call, const Frame& frame);

// One row a function.
struct Function {
  std::string_view name;
  std::array<ValueType, 5> arguments;
  std::size_t least;  // arguments needed
  std::size_t most;   // arguments taken; kAnyNumber: the last one's type repeats
  ValueType result;
  std::variant<RangeFunction, ValueFunction, NodeFunction> implementation;
  bool keeps_name = false;
};
inline constexpr std::size_t kAnyNumber = ~std::size_t{0};

std::span<const Function> functions();
const Function* find_function(std::string_view name);
// Prometheus has it, rdmend does not.
bool is_unsupported_function(std::string_view name);

}  // namespace rdmend::promql
