// SPDX-License-Identifier: Apache-2.0
// No query can stop the loop or fill the memory.
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

const std::string kTooMany =
    "error: query processing would load too many samples into memory in query execution";
const std::string kTimeout = "error: query timed out in expression evaluation";

struct Many {
  store::Store store{{.retention = 24h}};
  Many() {
    for (int i = 0; i < 50; ++i)
      load(store, 10s, fmt::format("m{{i=\"{}\",j=\"{}\"}} 0+{}x200", i, i % 7, i));
  }
  static Limits with(std::size_t samples) {
    auto limits = patient();
    limits.max_samples = samples;
    return limits;
  }
};

}  // namespace

TEST_CASE_METHOD(Many, "samples in memory are bounded wherever they come from") {
  CHECK(run(store, "sum(m)", 100, with(60)) == "{} 12250\n");
  CHECK(run(store, "sum(m)", 100, with(49)) == kTooMany);
  CHECK(run(store, "m[1000s]", 1000, with(4000)) == kTooMany);
  CHECK(run(store, "sum(rate(m[1000s]))", 1000, with(300)) == "{} 122.5\n");
  CHECK(run(store, "sum(rate(m[1000s]))", 1000, with(90)) == kTooMany);
  CHECK(run(store, "sum_over_time(m[1000s:1s])", 1000, with(40'000)) == kTooMany);
  CHECK(run(store, "m + on(i) m", 100, with(120)).substr(0, 20) == "{i=\"0\"} 0\n{i=\"1\"} 20");
  CHECK(run(store, "m + on(i) m", 100, with(90)) == kTooMany);
  CHECK(run_range(store, "m", 0, 1000, 10, with(5000)) == kTooMany);
  CHECK(run_range(store, "count_values('x', m)", 0, 1000, 10, with(6000)) == kTooMany);
}

TEST_CASE_METHOD(Many, "steps without number are refused before anything is allocated for them") {
  const auto limits = with(500'000);
  CHECK(run(store, "sum_over_time(vector(1)[100y:1ms])", 100, limits) == kTooMany);
  CHECK(run(store, "last_over_time(nothing[100y:1ms])", 100, limits) == kTooMany);
  CHECK(run(store, "absent_over_time(nothing[100y:1ms])", 100, limits) == kTooMany);
  CHECK(run_range(store, "1", 0, 1e11, 0.001, limits) == kTooMany);
  CHECK(run_range(store, "nothing", 0, 1e11, 0.001, limits) == kTooMany);
  CHECK(run_range(store, "topk(1, m)", 0, 1e11, 0.001, limits) == kTooMany);
  CHECK(run(store, "m", 1e13, limits) == "error: the evaluation time is out of bounds");
}

TEST_CASE_METHOD(Many, "the labels that operators make are bounded") {
  auto limits = with(500'000);
  limits.timeout = 60s;
  store::Store bombs{{.retention = 24h}};
  for (int i = 0; i < 3000; ++i) bombs.append(Labels{{"__name__", "m"}, {"i", std::to_string(i)}, {"a", std::string(1000, 'x')}}, Timestamp{100s}, 1);
  const std::string bomb = "label_replace(m, \"a\", \"$0$0$0$0$0$0$0$0$0$0$0$0\", \"a\", \".*\")";
  CHECK(run(bombs, "count(" + bomb + ")", 100, limits) == "error: query makes too many bytes of labels");
  CHECK(run(bombs, "count(label_replace(m, \"a\", \"$0$0\", \"a\", \".*\"))", 100, limits) == "{} 3000\n");
}

TEST_CASE_METHOD(Many, "time is bounded, whatever the query does with it") {
  Limits limits;
  limits.timeout = 1ms;
  limits.max_samples = 500'000'000;
  for (const auto* query : {
           "sum_over_time(sum_over_time(m[1000s:1s])[1000s:1s])",
           "count(quantile_over_time(0.5, m[2000s:1s] @ 2000))",
           "sum(sum_over_time((m * on(i) m)[2000s:1s]))",
           "sum_over_time(count_values('x', m)[2000s:1s])",
           "sum_over_time(topk(10, m)[2000s:1s])",
           "sum_over_time((m or on(i) m * 2)[2000s:1s])",
           "sum_over_time(label_replace(m, 'x', '$1', 'i', '(.*)')[2000s:100ms])",
           "sum_over_time(absent_over_time(m[1000s])[2000s:100ms])",
           "sum_over_time(vector(scalar(m))[2000s:100ms])",
       }) {
    INFO(query);
    const auto start = std::chrono::steady_clock::now();
    CHECK(run(store, query, 2000, limits) == kTimeout);
    CHECK(std::chrono::steady_clock::now() - start < 500ms);
  }
  limits.timeout = 0ms;
  CHECK(run_range(store, "m", 0, 1000, 1, limits) == kTimeout);
}

TEST_CASE_METHOD(Many, "the deepest expression that is allowed can be evaluated") {
  std::string sum = "1", nested = "m", subqueries = "m{i=\"1\"}";
  for (int i = 0; i < 180; ++i) sum += "+1";
  for (int i = 0; i < 150; ++i) nested = "abs(" + nested + ")";
  for (int i = 0; i < 60; ++i) subqueries = "last_over_time(" + subqueries + "[1s:1s])";
  CHECK(run(store, sum, 0) == "181");
  CHECK(run(store, "sum(" + nested + ")", 100) == "{} 12250\n");
  CHECK(run(store, subqueries, 100) == "m{i=\"1\",j=\"1\"} 10\n");
}

TEST_CASE("a rule over ten thousand series takes milliseconds") {
  store::Store store({.retention = 1h});
  for (int t = 0; t < 60; t += 10)
    for (int i = 0; i < 10'000; ++i)
      store.append({{"__name__", fmt::format("c{}_total", i % 50)}, {"device", fmt::format("d{}", i / 50)}},
                   at(t), t * i);
  const auto start = std::chrono::steady_clock::now();
  CHECK(run(store, "count(sum by (device) (rate({__name__=~\"c.*\"}[1m])))", 55) ==
        "error: vector cannot contain metrics with the same labelset");
  CHECK(run(store, "count(sum by (device) ({__name__=~\"c.*\"}))", 55) == "{} 200\n");
  for (int i = 0; i < 50; ++i)
    CHECK(run(store, fmt::format("count(rate(c{}_total[1m]) > -1)", i), 55) == "{} 200\n");
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}
