// SPDX-License-Identifier: Apache-2.0
// The meaning of each is Prometheus 3's, down to the order of additions where that is what decides the last
// digits.
#include "promql/range_functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rdmend::promql {
namespace {

using store::Point;


double seconds_between(Timestamp from, Timestamp to) {
  return static_cast<double>((to - from).count()) / 1000;
}

// What the counter rose by, a fall being a reset to zero.
double counter_rise(std::span<const Point> points) {
  double rise = points.back().value - points.front().value;
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].value < points[i - 1].value) rise += points[i - 1].value;
  return rise;
}

// The change over the whole range, from the change between the first and the last point. Up to 1.1 average
// intervals that are missing at an edge are filled; where more is missing the series is taken to begin or end
// half an interval away. A counter is not followed below zero.
bool extrapolated(const Window& window, bool is_counter, double& result) {
  const auto points = window.points;
  if (points.size() < 2) return false;
  double change = is_counter ? counter_rise(points) : points.back().value - points.front().value;
  double to_start = seconds_between(window.from, points.front().at);
  double to_end = seconds_between(points.back().at, window.to);
  const double sampled = seconds_between(points.front().at, points.back().at);
  const double average = sampled / static_cast<double>(points.size() - 1);
  const double threshold = average * 1.1;
  if (to_start >= threshold) to_start = average / 2;
  if (is_counter && change > 0 && points.front().value >= 0)
    to_start = std::min(to_start, sampled * (points.front().value / change));
  if (to_end >= threshold) to_end = average / 2;
  result = change * ((sampled + to_start + to_end) / sampled);
  return true;
}

bool last_two(const Window& window, bool is_rate, double& result) {
  const auto points = window.points;
  if (points.size() < 2) return false;
  const auto& last = points.back();
  const auto& before = points[points.size() - 2];
  // After a reset the counter has risen by what it shows.
  result = is_rate && last.value < before.value ? last.value : last.value - before.value;
  if (is_rate) result /= seconds_between(before.at, last.at);
  return true;
}

struct Line {
  double slope, intercept;  // intercept: the value at the given time
};

Line regression(std::span<const Point> points, Timestamp intercept_at) {
  KahanSum x_sum, y_sum, xy_sum, xx_sum;
  bool constant = true;
  for (const auto& point : points) {
    constant = constant && point.value == points.front().value;
    const double x = seconds_between(intercept_at, point.at);
    x_sum.add(x);
    y_sum.add(point.value);
    xy_sum.add(x * point.value);
    xx_sum.add(x * x);
  }
  if (constant) return std::isinf(points.front().value) ? Line{kNaN, kNaN} : Line{0, points.front().value};
  const auto n = static_cast<double>(points.size());
  const auto whole = [](const KahanSum& s) { return s.sum + s.compensation; };
  const double x = whole(x_sum), y = whole(y_sum);
  const double covariance = whole(xy_sum) - x * y / n;
  const double variance = whole(xx_sum) - x * x / n;
  const double slope = covariance / variance;
  return {slope, y / n - slope * x / n};
}

double variance(std::span<const Point> points) {
  KahanSum mean, squares;
  double count = 0;
  for (const auto& point : points) {
    ++count;
    const double distance = point.value - (mean.sum + mean.compensation);
    mean.add(distance / count);
    squares.add(distance * (point.value - (mean.sum + mean.compensation)));
  }
  return (squares.sum + squares.compensation) / count;
}

}  // namespace

void KahanSum::add(double value) {
  const double next = sum + value;
  if (std::isinf(next))
    compensation = 0;
  else if (std::fabs(sum) >= std::fabs(value))
    compensation += (sum - next) + value;
  else
    compensation += (value - next) + sum;
  sum = next;
}

double KahanSum::total() const {
  return std::isinf(sum) ? sum : sum + compensation;
}

void KahanMean::add(double value) {
  ++count_;
  if (count_ == 1) {
    sum_.sum = value;
    return;
  }
  if (!incremental_) {
    auto next = sum_;
    next.add(value);
    if (!std::isinf(next.sum)) {
      sum_ = next;
      return;
    }
    incremental_ = true;
    sum_.sum /= count_ - 1;
    sum_.compensation /= count_ - 1;
  }
  const double share = (count_ - 1) / count_;
  sum_.sum *= share;
  sum_.compensation *= share;
  sum_.add(value / count_);
}

double KahanMean::mean() const {
  return incremental_ ? sum_.sum + sum_.compensation : sum_.sum / count_ + sum_.compensation / count_;
}

double quantile(double q, std::span<double> values) {
  if (values.empty() || std::isnan(q)) return kNaN;
  if (q < 0) return -std::numeric_limits<double>::infinity();
  if (q > 1) return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end(),
            [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  const auto n = static_cast<double>(values.size());
  const double rank = q * (n - 1);
  const double lower = std::max(0.0, std::floor(rank));
  const double upper = std::min(n - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  return values[static_cast<std::size_t>(lower)] * (1 - weight) +
         values[static_cast<std::size_t>(upper)] * weight;
}

bool rate(const Window& window, double& result) {
  if (!extrapolated(window, true, result)) return false;
  result /= seconds_between(window.from, window.to);
  return true;
}

bool increase(const Window& window, double& result) {
  return extrapolated(window, true, result);
}
bool delta(const Window& window, double& result) {
  return extrapolated(window, false, result);
}
bool irate(const Window& window, double& result) {
  return last_two(window, true, result);
}
bool idelta(const Window& window, double& result) {
  return last_two(window, false, result);
}

bool deriv(const Window& window, double& result) {
  if (window.points.size() < 2) return false;
  result = regression(window.points, window.points.front().at).slope;
  return true;
}

bool predict_linear(const Window& window, double& result) {
  if (window.points.size() < 2) return false;
  const auto line = regression(window.points, window.now);
  result = line.slope * window.argument + line.intercept;
  return true;
}

bool changes(const Window& window, double& result) {
  result = 0;
  for (std::size_t i = 1; i < window.points.size(); ++i) {
    const double before = window.points[i - 1].value, value = window.points[i].value;
    if (value != before && !(std::isnan(value) && std::isnan(before))) ++result;
  }
  return true;
}

bool resets(const Window& window, double& result) {
  result = 0;
  for (std::size_t i = 1; i < window.points.size(); ++i)
    if (window.points[i].value < window.points[i - 1].value) ++result;
  return true;
}

bool avg_over_time(const Window& window, double& result) {
  KahanMean mean;
  for (const auto& point : window.points) mean.add(point.value);
  result = mean.mean();
  return true;
}

bool min_over_time(const Window& window, double& result) {
  result = window.points.front().value;
  for (const auto& point : window.points)
    if (point.value < result || std::isnan(result)) result = point.value;
  return true;
}

bool max_over_time(const Window& window, double& result) {
  result = window.points.front().value;
  for (const auto& point : window.points)
    if (point.value > result || std::isnan(result)) result = point.value;
  return true;
}

bool sum_over_time(const Window& window, double& result) {
  KahanSum sum;
  for (const auto& point : window.points) sum.add(point.value);
  result = sum.total();
  return true;
}

bool count_over_time(const Window& window, double& result) {
  result = static_cast<double>(window.points.size());
  return true;
}

bool last_over_time(const Window& window, double& result) {
  result = window.points.back().value;
  return true;
}

bool present_over_time(const Window&, double& result) {
  result = 1;
  return true;
}

bool quantile_over_time(const Window& window, double& result) {
  std::vector<double> values;
  values.reserve(window.points.size());
  for (const auto& point : window.points) values.push_back(point.value);
  result = quantile(window.argument, values);
  return true;
}

bool stddev_over_time(const Window& window, double& result) {
  result = std::sqrt(variance(window.points));
  return true;
}

bool stdvar_over_time(const Window& window, double& result) {
  result = variance(window.points);
  return true;
}

}  // namespace rdmend::promql
