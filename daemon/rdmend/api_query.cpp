// SPDX-License-Identifier: Apache-2.0
// Expressions, at one time and over a range of times. Both are bounded inside the evaluator, by query.max_samples and query.timeout.
#include <fmt/format.h>

#include <algorithm>

#include "promql/promql.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/api_parameters.hpp"
#include "rdmend/api_result.hpp"

namespace rdmend::daemon {
namespace {

constexpr std::int64_t kMostSteps = 11'000;

HttpResponse query_failed(const Error& error) {
  const bool late = error.message.find("timed out") != std::string::npos;
  return failure(late ? 503 : 422, late ? "timeout" : "execution", error.message);
}

Result<promql::Limits> limits_of(const Core& core, const HttpRequest& request) {
  const auto& query = core.settings->config.query;
  promql::Limits limits{query.max_samples, query.timeout};
  limits.subquery_step = core.settings->config.rules.evaluation_interval;
  if (request.parameter("timeout").empty()) return limits;
  const auto wanted = duration_parameter(request, "timeout");
  if (!wanted) return wanted.error();
  limits.timeout = std::min(limits.timeout, *wanted);
  return limits;
}

Result<promql::Expression> parsed_query(const HttpRequest& request) {
  auto parsed = promql::parse(request.parameter("query"));
  if (const auto* errors = std::get_if<1>(&parsed)) return parameter_error("query", parse_errors(*errors));
  return std::get<0>(std::move(parsed));
}

// Cuts a list to what was asked for; whether there was more.
template <class List>
bool truncate(List& list, std::size_t limit) {
  if (list.size() <= limit) return false;
  list.resize(limit);
  return true;
}

struct Range {
  Timestamp start{}, end{};
  milliseconds step{0};
};

Result<Range> range_of(const HttpRequest& request) {
  const auto start = time_parameter(request, "start");
  if (!start) return start.error();
  const auto end = time_parameter(request, "end");
  if (!end) return end.error();
  if (*end < *start) return parameter_error("end", "end timestamp must not be before start time");
  const auto step = duration_parameter(request, "step");
  if (!step) return step.error();
  if (step->count() <= 0)
    return parameter_error("step", "zero or negative query resolution step widths are not accepted. Try a positive integer");
  if ((*end - *start) / *step > kMostSteps)
    return Error{"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"};
  return Range{*start, *end, *step};
}

}  // namespace

std::string parse_errors(const std::vector<promql::ParseError>& errors) {
  std::string out;
  for (const auto& error : errors)
    out += fmt::format("{}{}:{}: parse error: {}{}{}", out.empty() ? "" : "\n", error.at.line, error.at.column, error.what,
                       error.hint.empty() ? "" : "; ", error.hint);
  return out;
}

void api_query(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto limit = limit_parameter(request);
  if (!limit) return answer(bad_data(limit.error()));
  const auto at = time_parameter(request, "time", core.loop.now().wall);
  if (!at) return answer(bad_data(at.error()));
  const auto limits = limits_of(core, request);
  if (!limits) return answer(bad_data(limits.error()));
  const auto query = parsed_query(request);
  if (!query) return answer(bad_data(query.error()));
  auto value = promql::evaluate(*query, core.store, *at, *limits);
  if (!value) return answer(query_failed(value.error()));
  bool more = false;
  if (auto* vector = std::get_if<promql::Vector>(&*value)) more = truncate(*vector, *limit);
  if (auto* matrix = std::get_if<promql::Matrix>(&*value)) more = truncate(*matrix, *limit);
  answer(success_text(result_json(*value, *at), more ? kTruncated : ""));
}

void api_query_range(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto limit = limit_parameter(request);
  if (!limit) return answer(bad_data(limit.error()));
  const auto range = range_of(request);
  if (!range) return answer(bad_data(range.error()));
  const auto limits = limits_of(core, request);
  if (!limits) return answer(bad_data(limits.error()));
  const auto query = parsed_query(request);
  if (!query) return answer(bad_data(query.error()));
  if (query->type() == promql::ValueType::matrix || query->type() == promql::ValueType::string)
    return answer(bad_data(parameter_error("query", fmt::format("invalid expression type \"{}\" for range query, must be Scalar or instant Vector",
                                                                query->type() == promql::ValueType::matrix ? "range vector" : "string"))));
  auto matrix = promql::evaluate_range(*query, core.store, range->start, range->end, range->step, *limits);
  if (!matrix) return answer(query_failed(matrix.error()));
  const bool more = truncate(*matrix, *limit);
  answer(success_text(result_json(promql::Value(std::move(*matrix)), range->end), more ? kTruncated : ""));
}

}  // namespace rdmend::daemon
