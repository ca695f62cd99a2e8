// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

std::string of(std::string_view series, std::string_view expression, double when) {
  store::Store store({.retention = 24h});
  load(store, 10s, series);
  return run(store, expression, when);
}

}  // namespace

TEST_CASE("a counter's increase is extrapolated to the edges of its range") {
  // Five points, 40 s apart from end to end, in a range of 50 s: both edges are within 1.1 intervals.
  CHECK(of("c 100+10x100", "increase(c[50s])", 105) == "{} 50\n");
  CHECK(of("c 100+10x100", "rate(c[50s])", 105) == "{} 1\n");
  CHECK(of("c 100+10x100", "delta(c[50s])", 105) == "{} 50\n");
  // Two points are needed.
  CHECK(of("c 100+10x100", "rate(c[10s])", 100).empty());
  CHECK(of("c 100+10x100", "rate(c[20s])", 100) == "{} 1\n");
}

TEST_CASE("where points are missing at an edge, half an interval is filled") {
  // Points at 0..40 s, the range is (0 s - 60 s, 40 s]: 60 s are missing on the left, 5 s are added.
  CHECK(of("c 1000+10x4", "increase(c[100s])", 40) == "{} 45\n");
  // The same on the right, while the 10 s on the left are filled whole.
  CHECK(of("c 1000+10x4", "increase(c[100s])", 90) == "{} 55\n");
  // 10.875 s missing are within 1.1 intervals, 11 s are not.
  CHECK(of("c 1000+10x4", "increase(c[100s])", 50.875) == "{} 55.875\n");
  CHECK(of("c 1000+10x4", "increase(c[100s])", 51) == "{} 50\n");
}

TEST_CASE("a counter is not extrapolated below zero, a gauge is") {
  // At 5 on the first point and rising by 1 a second the counter was zero 5 s before.
  CHECK(of("c _ 5+10x4", "increase(c[60s])", 60) == "{} 55\n");
  CHECK(of("c _ 2+10x4", "increase(c[50s])", 50) == "{} 42\n");
  CHECK(of("c _ 0+10x4", "increase(c[50s])", 50) == "{} 40\n");
  CHECK(of("c _ 2+10x4", "delta(c[50s])", 50) == "{} 50\n");
}

TEST_CASE("a counter's fall is a reset") {
  CHECK(of("c 1000 1010 1020 5 15", "increase(c[50s])", 40) == "{} 43.75\n");
  CHECK(of("c 1000 1010 1020 5 15", "resets(c[50s])", 40) == "{} 1\n");
  CHECK(of("c 1000 1010 1020 5 15", "irate(c[50s])", 30) == "{} 0.5\n");
  CHECK(of("c 1000 1010 1020 5 15", "idelta(c[50s])", 30) == "{} -1015\n");
  CHECK(of("c 1000 1010 1020 5 15", "irate(c[50s])", 40) == "{} 1\n");
  CHECK(of("c 1 1 2 NaN NaN 2", "changes(c[1m])", 50) == "{} 3\n");
  CHECK(of("c 5", "changes(c[1m])", 50) == "{} 0\n");
}

TEST_CASE("a line is fitted through the points") {
  CHECK(of("g 0+10x10", "deriv(g[100s])", 100) == "{} 1\n");
  CHECK(of("g 0+10x10", "predict_linear(g[100s], 60)", 100) == "{} 160\n");
  CHECK(of("g 0+10x10", "predict_linear(g[50s] offset 50s, 60)", 100) == "{} 160\n");
  CHECK(of("g 7x10", "deriv(g[100s])", 100) == "{} 0\n");
  CHECK(of("g Infx10", "deriv(g[100s])", 100) == "{} NaN\n");
  CHECK(of("g 1", "deriv(g[100s])", 10).empty());
}

TEST_CASE("functions over the points of a range") {
  const auto* series = "g 0 8 8 2 3";
  CHECK(of(series, "avg_over_time(g[1m])", 40) == "{} 4.2\n");
  CHECK(of(series, "min_over_time(g[1m])", 40) == "{} 0\n");
  CHECK(of(series, "max_over_time(g[1m])", 40) == "{} 8\n");
  CHECK(of(series, "sum_over_time(g[1m])", 40) == "{} 21\n");
  CHECK(of(series, "count_over_time(g[1m])", 40) == "{} 5\n");
  CHECK(of(series, "last_over_time(g[1m])", 45) == "g 3\n");
  CHECK(of(series, "present_over_time(g[1m])", 40) == "{} 1\n");
  CHECK(of("g 2 4 4 4 5 5 7 9", "stdvar_over_time(g[2m])", 70) == "{} 4\n");
  CHECK(of("g 2 4 4 4 5 5 7 9", "stddev_over_time(g[2m])", 70) == "{} 2\n");
  CHECK(of(series, "quantile_over_time(0.5, g[1m])", 40) == "{} 3\n");
  CHECK(of(series, "quantile_over_time(0.75, g[1m])", 40) == "{} 8\n");
  CHECK(of(series, "quantile_over_time(-1, g[1m])", 40) == "{} -Inf\n");
  CHECK(of(series, "quantile_over_time(2, g[1m])", 40) == "{} +Inf\n");
  CHECK(of(series, "quantile_over_time(NaN, g[1m])", 40) == "{} NaN\n");
}

TEST_CASE("NaN gives way to any number in the extremes, and counts as the smallest in quantiles") {
  CHECK(of("g NaN 3 NaN 1", "max_over_time(g[1m])", 30) == "{} 3\n");
  CHECK(of("g NaN 3 NaN 1", "min_over_time(g[1m])", 30) == "{} 1\n");
  CHECK(of("g NaN NaN", "max_over_time(g[1m])", 30) == "{} NaN\n");
  CHECK(of("g NaN 3 1", "quantile_over_time(1, g[1m])", 30) == "{} 3\n");
  CHECK(of("g NaN 3 1", "quantile_over_time(0, g[1m])", 30) == "{} NaN\n");
}

TEST_CASE("sums are compensated, and means do not overflow") {
  CHECK(of("g 1e100 1 -1e100", "sum_over_time(g[1m])", 20) == "{} 1\n");
  CHECK(of("g 1e100 2 -1e100 1", "avg_over_time(g[1m])", 30) == "{} 0.75\n");
  CHECK(of("g 1e308x3", "avg_over_time(g[1m])", 30) == "{} 1e+308\n");
  CHECK(of("g 1e308x3", "sum_over_time(g[1m])", 30) == "{} +Inf\n");
  CHECK(of("g Inf 1", "avg_over_time(g[1m])", 30) == "{} +Inf\n");
  CHECK(of("g Inf -Inf", "avg_over_time(g[1m])", 30) == "{} NaN\n");
  CHECK(of("g Inf -Inf", "sum_over_time(g[1m])", 30) == "{} NaN\n");
}

TEST_CASE("functions over ranges drop the name, and series that differ in nothing else are a fault") {
  const auto* series = "a 0+1x5\n b 0+1x5";
  CHECK(of(series, "rate({__name__=~\"a|b\"}[1m])", 50) ==
        "error: vector cannot contain metrics with the same labelset");
  CHECK(of(series, "last_over_time({__name__=~\"a|b\"}[1m])", 50) == "a 5\nb 5\n");
}
