// SPDX-License-Identifier: Apache-2.0
#include "differential/grammar.hpp"

namespace rdmend::differential {

std::span<const Function> functions() {
  using enum Arguments;
  static const std::vector<Function> kFunctions{
      {"rate", rate, true, false},
      {"increase", rate, true, false},
      {"irate", matrix, true, false},
      {"delta", matrix, true, false},
      {"idelta", matrix, true, true},
      {"deriv", matrix, true, false},
      {"predict_linear", matrix_scalar, true, false},
      {"changes", matrix, true, true},
      {"resets", matrix, true, true},
      {"avg_over_time", matrix, false, false},
      {"min_over_time", matrix, false, true},
      {"max_over_time", matrix, false, true},
      {"sum_over_time", matrix, false, true},
      {"count_over_time", matrix, false, true},
      {"last_over_time", matrix, false, true},
      {"present_over_time", matrix, false, true},
      {"quantile_over_time", scalar_matrix, false, false},
      {"stddev_over_time", matrix, true, false},
      {"stdvar_over_time", matrix, true, false},
      {"absent", vector, false, true},
      {"absent_over_time", matrix, false, true},
      {"abs", vector, false, true},
      {"ceil", vector, true, true},
      {"floor", vector, true, true},
      {"round", vector_opt_scalar, true, false},
      {"sgn", vector, true, true},
      {"exp", vector, false, false},
      {"ln", vector, false, false},
      {"log2", vector, false, false},
      {"log10", vector, false, false},
      {"sqrt", vector, false, false},
      {"clamp", vector_2_scalars, false, true},
      {"clamp_min", vector_scalar, false, true},
      {"clamp_max", vector_scalar, false, true},
      {"time", none, false, true},
      {"timestamp", vector, false, true},
      {"vector", scalar, false, true},
      {"scalar", to_scalar, false, true},
      {"sort", sort, true, true},
      {"sort_desc", sort, true, true},
      {"label_replace", replace, false, true},
      {"label_join", join, false, true},
  };
  return kFunctions;
}

std::span<const Aggregation> aggregations() {
  using enum Parameter;
  static const std::vector<Aggregation> kAggregations{
      {"sum", none, true},          {"min", none, true},        {"max", none, true},    {"avg", none, false},
      {"count", none, true},        {"group", none, true},      {"stddev", none, false}, {"stdvar", none, false},
      {"topk", count, true},        {"bottomk", count, true},   {"quantile", quantile, false}, {"count_values", text, true},
  };
  return kAggregations;
}

std::span<const Operator> operators() {
  using enum OperatorKind;
  static const std::vector<Operator> kOperators{
      {"+", arithmetic}, {"-", arithmetic}, {"*", arithmetic},  {"/", arithmetic},  {"%", arithmetic},
      {"^", arithmetic}, {"==", comparison}, {"!=", comparison}, {">", comparison},  {"<", comparison},
      {">=", comparison}, {"<=", comparison}, {"and", set},       {"or", set},        {"unless", set},
  };
  return kOperators;
}

std::span<const std::string> others() {
  static const std::vector<std::string> kOthers{
      "matcher =",          "matcher !=",        "matcher =~",         "matcher !~",          "matcher __name__ =",
      "matcher __name__ =~", "selector instant", "selector range",     "subquery with step",  "subquery without step",
      "subquery in subquery", "modifier offset", "modifier offset -",  "modifier @ time",     "modifier @ start()",
      "modifier @ end()",   "modifier bool",     "matching on",        "matching ignoring",   "matching group_left",
      "matching group_left(labels)", "matching group_right", "matching group_right(labels)", "grouping by", "grouping without", "unary -",
      "unary +",            "literal number",    "literal hexadecimal", "literal Inf",        "literal NaN",
      "literal string",     "parentheses",       "comment",            "query instant",       "query range",
      "result scalar",      "result string",     "result vector",      "result matrix",       "result parse error",
      "result execution error",
  };
  return kOthers;
}

std::vector<std::string> items() {
  std::vector<std::string> all;
  for (const Function& function : functions()) all.push_back("function " + function.name);
  for (const Aggregation& aggregation : aggregations()) all.push_back("aggregation " + aggregation.name);
  for (const Operator& op : operators()) all.push_back("operator " + op.text);
  all.insert(all.end(), others().begin(), others().end());
  return all;
}

}  // namespace rdmend::differential
