// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "base/result.hpp"
#include "model/labels.hpp"
#include "store/store.hpp"

namespace rdmend::promql {

enum class ValueType { scalar, string, vector, matrix };
const char* value_type_name(ValueType type);

struct Node;  // the typed AST, ast.hpp

// A parsed, typed expression. Cheap to copy (shares the immutable AST).
class Expression {
 public:
  explicit Expression(std::shared_ptr<const Node> root);
  [[nodiscard]] const Node& root() const { return *root_; }
  [[nodiscard]] ValueType type() const;
  // Canonical text, parsing to an equal expression.
  [[nodiscard]] std::string text() const;
  // The matchers of every selector in it, in text order.
  [[nodiscard]] std::vector<std::vector<store::Matcher>> selectors() const;
  // How far back from the evaluation time it reads: range + offset + look-back, subqueries added up.
  [[nodiscard]] milliseconds reach() const;

 private:
  std::shared_ptr<const Node> root_;
};

// A fault of an expression; positions count from the expression's first character (1:1).
struct ParseError {
  Position at;
  std::string what;  // "unknown function 'rat'"
  std::string hint;  // "did you mean 'rate'?"
};

// All faults that can be told at once, at least one when there is no expression.
std::variant<Expression, std::vector<ParseError>> parse(std::string_view text);

struct Limits {
  std::size_t max_samples = 500'000;
  milliseconds timeout{50};
  milliseconds look_back = std::chrono::minutes{5};
  milliseconds subquery_step{15'000};  // the resolution of a subquery that gives none: the evaluation interval
};

struct VectorElement {
  Labels labels;
  double value = 0;
};
struct MatrixSeries {
  Labels labels;
  std::vector<store::Point> points;
};
using Vector = std::vector<VectorElement>;
using Matrix = std::vector<MatrixSeries>;
using Value = std::variant<double, std::string, Vector, Matrix>;  // index = ValueType

// The expression's value at `at`, as Prometheus 3 would answer it. Errors carry Prometheus' text
// ("query processing would load too many samples into memory in query execution", ...).
Result<Value> evaluate(const Expression& expression, const store::Store& store, Timestamp at, const Limits& limits);
// The same at start, start + step, ... end: a matrix (of one nameless series for a scalar expression).
Result<Matrix> evaluate_range(const Expression& expression, const store::Store& store, Timestamp start, Timestamp end,
                              milliseconds step, const Limits& limits);

// A float as Prometheus prints it in its API: shortest that reads back equal, "NaN", "+Inf", "-Inf".
std::string format_value(double value);

}  // namespace rdmend::promql
