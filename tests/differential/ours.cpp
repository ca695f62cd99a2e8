// SPDX-License-Identifier: Apache-2.0
#include "differential/answer.hpp"
#include "promql/promql.hpp"

namespace rdmend::differential {
namespace {

// The limits are tested elsewhere.
const promql::Limits kLimits{.max_samples = 50'000'000, .timeout = std::chrono::minutes{1}, .look_back = std::chrono::minutes{5}, .subquery_step = kSubqueryStep};

Answer failure(Answer::Kind kind, std::string text) {
  Answer answer;
  answer.kind = kind;
  answer.text = std::move(text);
  return answer;
}

Answer of_matrix(promql::Matrix matrix) {
  Answer answer;
  answer.kind = Answer::Kind::matrix;
  for (promql::MatrixSeries& series : matrix) answer.series.push_back({std::move(series.labels), std::move(series.points)});
  return answer;
}

Answer of_value(promql::Value value, Timestamp at) {
  if (auto* matrix = std::get_if<promql::Matrix>(&value)) return of_matrix(std::move(*matrix));
  Answer answer;
  if (const auto* number = std::get_if<double>(&value)) {
    answer.kind = Answer::Kind::scalar;
    answer.scalar = *number;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    answer.kind = Answer::Kind::string;
    answer.text = *text;
  } else {
    answer.kind = Answer::Kind::vector;
    for (const promql::VectorElement& element : std::get<promql::Vector>(value))
      answer.series.push_back({element.labels, {{at, element.value}}});
  }
  return answer;
}

}  // namespace

Ours::Ours(const std::vector<Series>& series) : store_({.max_bytes = 1U << 30U, .retention = std::chrono::hours{24}}) {
  for (const Series& one : series)
    for (const store::Point& point : one.points) store_.append(one.labels, point.at, point.value);
}

Answer Ours::ask(const Case& query) const {
  const auto parsed = promql::parse(query.expression);
  if (const auto* errors = std::get_if<std::vector<promql::ParseError>>(&parsed))
    return failure(Answer::Kind::parse_error, errors->empty() ? "no error was given" : errors->front().what);
  const auto& expression = std::get<promql::Expression>(parsed);
  if (query.range) {
    // Prometheus refuses a range query of a string or a range vector before it evaluates anything.
    if (expression.type() == promql::ValueType::matrix || expression.type() == promql::ValueType::string)
      return failure(Answer::Kind::parse_error, "invalid expression type for a range query");
    auto matrix = promql::evaluate_range(expression, store_, query.start, query.end, query.step, kLimits);
    return matrix ? of_matrix(std::move(*matrix)) : failure(Answer::Kind::execution_error, matrix.error().message);
  }
  auto value = promql::evaluate(expression, store_, query.start, kLimits);
  return value ? of_value(std::move(*value), query.start) : failure(Answer::Kind::execution_error, value.error().message);
}

}  // namespace rdmend::differential
