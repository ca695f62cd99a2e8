// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmend::differential {

// The subset of PromQL as tables: the generator draws from them, and the end of a run must have seen every row.

enum class Arguments {
  none,            // time()
  vector,          // abs(v)
  vector_scalar,   // clamp_min(v, s)
  vector_2_scalars,
  vector_opt_scalar,  // round(v, s = 1)
  rate,            // of counters: rate(m)
  matrix,          // deriv(m)
  scalar_matrix,   // quantile_over_time(s, m)
  matrix_scalar,   // predict_linear(m, s)
  scalar,          // vector(s)
  to_scalar,       // scalar(v)
  replace,         // label_replace(v, ...)
  join,            // label_join(v, ...)
  sort,            // at the top only: elsewhere it means nothing
};
struct Function {
  std::string name;
  Arguments arguments;
  bool jumps;   // a rounding error of the argument can change the result much
  bool exact;   // of exact arguments makes exact results
};
std::span<const Function> functions();

enum class Parameter { none, count, quantile, text };
struct Aggregation {
  std::string name;
  Parameter parameter;
  bool exact;
};
std::span<const Aggregation> aggregations();

enum class OperatorKind { arithmetic, comparison, set };
struct Operator {
  std::string text;
  OperatorKind kind;
};
std::span<const Operator> operators();

// What else there is: "modifier offset", "matching on", ...
std::span<const std::string> others();

// The names of all rows: "function rate", "aggregation sum", "operator +", and the others.
std::vector<std::string> items();
using Used = std::set<std::string>;

}  // namespace rdmend::differential
