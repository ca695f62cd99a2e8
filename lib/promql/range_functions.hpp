// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "promql/functions.hpp"

namespace rdmend::promql {

// Neumaier's variant of Kahan summation: the sum is `sum + compensation`.
struct KahanSum {
  double sum = 0, compensation = 0;
  void add(double value);
  [[nodiscard]] double total() const;
};
// The mean, summed as long as the sum does not overflow, incremental from there on.
struct KahanMean {
  void add(double value);
  [[nodiscard]] double mean() const;

 private:
  KahanSum sum_;
  double count_ = 0;
  bool incremental_ = false;
};
// Sorts `values`; NaNs count as the smallest.
double quantile(double q, std::span<double> values);

bool rate(const Window& window, double& result);
bool increase(const Window& window, double& result);
bool delta(const Window& window, double& result);
bool irate(const Window& window, double& result);
bool idelta(const Window& window, double& result);
bool deriv(const Window& window, double& result);
bool predict_linear(const Window& window, double& result);
bool changes(const Window& window, double& result);
bool resets(const Window& window, double& result);
bool avg_over_time(const Window& window, double& result);
bool min_over_time(const Window& window, double& result);
bool max_over_time(const Window& window, double& result);
bool sum_over_time(const Window& window, double& result);
bool count_over_time(const Window& window, double& result);
bool last_over_time(const Window& window, double& result);
bool present_over_time(const Window& window, double& result);
bool quantile_over_time(const Window& window, double& result);
bool stddev_over_time(const Window& window, double& result);
bool stdvar_over_time(const Window& window, double& result);

}  // namespace rdmend::promql
