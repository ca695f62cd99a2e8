// SPDX-License-Identifier: Apache-2.0
#include "promql/functions.hpp"

#include <algorithm>
#include <cmath>

#include "promql/label_functions.hpp"
#include "promql/range_functions.hpp"

namespace rdmend::promql {
namespace {

using Arguments = std::span<const double>;

template <double (*F)(double)>
bool each(double value, Arguments, double& result) {
  result = F(value);
  return true;
}

double sign(double v) {
  return v < 0 ? -1 : v > 0 ? 1 : v;
}

// Go's math.Min and math.Max: NaN wins, but the infinity that cannot be beaten wins over it.
double least(double a, double b) {
  if (std::isinf(a) && a < 0) return a;
  if (std::isinf(b) && b < 0) return b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 0 && a == b) return std::signbit(a) ? a : b;
  return std::min(a, b);
}
double greatest(double a, double b) {
  return -least(-a, -b);
}

bool clamp_between(double value, double low, double high, double& result) {
  if (high < low) return false;
  result = greatest(low, least(high, value));
  return true;
}
bool clamp(double value, Arguments arguments, double& result) {
  return clamp_between(value, arguments[0], arguments[1], result);
}
bool clamp_min(double value, Arguments arguments, double& result) {
  return clamp_between(value, arguments[0], std::numeric_limits<double>::infinity(), result);
}
bool clamp_max(double value, Arguments arguments, double& result) {
  return clamp_between(value, -std::numeric_limits<double>::infinity(), arguments[0], result);
}

bool round(double value, Arguments arguments, double& result) {
  const double inverse = 1.0 / (arguments.empty() ? 1.0 : arguments[0]);
  result = std::floor(value * inverse + 0.5) / inverse;
  return true;
}

constexpr auto kScalar = ValueType::scalar;
constexpr auto kString = ValueType::string;
constexpr auto kVector = ValueType::vector;
constexpr auto kMatrix = ValueType::matrix;

const std::array kFunctions{
    Function{"abs", {kVector}, 1, 1, kVector, &each<std::fabs>},
    Function{"absent", {kVector}, 1, 1, kVector, &absent},
    Function{"absent_over_time", {kMatrix}, 1, 1, kVector, &absent_over_time},
    Function{"avg_over_time", {kMatrix}, 1, 1, kVector, &avg_over_time},
    Function{"ceil", {kVector}, 1, 1, kVector, &each<std::ceil>},
    Function{"changes", {kMatrix}, 1, 1, kVector, &changes},
    Function{"clamp", {kVector, kScalar, kScalar}, 3, 3, kVector, &clamp},
    Function{"clamp_max", {kVector, kScalar}, 2, 2, kVector, &clamp_max},
    Function{"clamp_min", {kVector, kScalar}, 2, 2, kVector, &clamp_min},
    Function{"count_over_time", {kMatrix}, 1, 1, kVector, &count_over_time},
    Function{"delta", {kMatrix}, 1, 1, kVector, &delta},
    Function{"deriv", {kMatrix}, 1, 1, kVector, &deriv},
    Function{"exp", {kVector}, 1, 1, kVector, &each<std::exp>},
    Function{"floor", {kVector}, 1, 1, kVector, &each<std::floor>},
    Function{"idelta", {kMatrix}, 1, 1, kVector, &idelta},
    Function{"increase", {kMatrix}, 1, 1, kVector, &increase},
    Function{"irate", {kMatrix}, 1, 1, kVector, &irate},
    Function{
        "label_join", {kVector, kString, kString, kString, kString}, 3, kAnyNumber, kVector, &label_join},
    Function{"label_replace", {kVector, kString, kString, kString, kString}, 5, 5, kVector, &label_replace},
    Function{"last_over_time", {kMatrix}, 1, 1, kVector, &last_over_time, true},
    Function{"ln", {kVector}, 1, 1, kVector, &each<std::log>},
    Function{"log10", {kVector}, 1, 1, kVector, &each<std::log10>},
    Function{"log2", {kVector}, 1, 1, kVector, &each<std::log2>},
    Function{"max_over_time", {kMatrix}, 1, 1, kVector, &max_over_time},
    Function{"min_over_time", {kMatrix}, 1, 1, kVector, &min_over_time},
    Function{"predict_linear", {kMatrix, kScalar}, 2, 2, kVector, &predict_linear},
    Function{"present_over_time", {kMatrix}, 1, 1, kVector, &present_over_time},
    Function{"quantile_over_time", {kScalar, kMatrix}, 2, 2, kVector, &quantile_over_time},
    Function{"rate", {kMatrix}, 1, 1, kVector, &rate},
    Function{"resets", {kMatrix}, 1, 1, kVector, &resets},
    Function{"round", {kVector, kScalar}, 1, 2, kVector, &round},
    Function{"scalar", {kVector}, 1, 1, kScalar, &scalar},
    Function{"sgn", {kVector}, 1, 1, kVector, &each<sign>},
    Function{"sort", {kVector}, 1, 1, kVector, &sort},
    Function{"sort_desc", {kVector}, 1, 1, kVector, &sort_desc},
    Function{"sqrt", {kVector}, 1, 1, kVector, &each<std::sqrt>},
    Function{"stddev_over_time", {kMatrix}, 1, 1, kVector, &stddev_over_time},
    Function{"stdvar_over_time", {kMatrix}, 1, 1, kVector, &stdvar_over_time},
    Function{"sum_over_time", {kMatrix}, 1, 1, kVector, &sum_over_time},
    Function{"time", {}, 0, 0, kScalar, &time},
    Function{"timestamp", {kVector}, 1, 1, kVector, &timestamp},
    Function{"vector", {kScalar}, 1, 1, kVector, &vector},
};

constexpr auto kUnsupported = std::to_array<std::string_view>({"acos",
                                                               "acosh",
                                                               "asin",
                                                               "asinh",
                                                               "atan",
                                                               "atanh",
                                                               "cos",
                                                               "cosh",
                                                               "day_of_month",
                                                               "day_of_week",
                                                               "day_of_year",
                                                               "days_in_month",
                                                               "deg",
                                                               "double_exponential_smoothing",
                                                               "first_over_time",
                                                               "histogram_avg",
                                                               "histogram_count",
                                                               "histogram_fraction",
                                                               "histogram_quantile",
                                                               "histogram_quantiles",
                                                               "histogram_stddev",
                                                               "histogram_stdvar",
                                                               "histogram_sum",
                                                               "holt_winters",
                                                               "hour",
                                                               "info",
                                                               "mad_over_time",
                                                               "minute",
                                                               "month",
                                                               "pi",
                                                               "rad",
                                                               "sin",
                                                               "sinh",
                                                               "sort_by_label",
                                                               "sort_by_label_desc",
                                                               "tan",
                                                               "tanh",
                                                               "ts_of_first_over_time",
                                                               "ts_of_last_over_time",
                                                               "ts_of_max_over_time",
                                                               "ts_of_min_over_time",
                                                               "year"});

}  // namespace

std::span<const Function> functions() {
  return kFunctions;
}

const Function* find_function(std::string_view name) {
  const auto* found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

bool is_unsupported_function(std::string_view name) {
  return std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end();
}

}  // namespace rdmend::promql
