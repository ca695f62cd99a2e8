// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

struct Loaded {
  store::Store store{{.retention = 24h}};
  Loaded() {
    load(store, 10s, R"(
      requests{job="api",instance="0"} 0+10x100
      requests{job="api",instance="1"} 0+20x100
      requests{job="web",instance="0"} 0+30x100
      gone 1 2 3 stale _ 7
      up 1 1 0 1
    )");
  }
};

}  // namespace

TEST_CASE_METHOD(Loaded, "selectors find by every kind of matcher") {
  CHECK(run(store, "requests", 100) ==
        "requests{instance=\"0\",job=\"api\"} 100\nrequests{instance=\"0\",job=\"web\"} "
        "300\nrequests{instance=\"1\",job=\"api\"} 200\n");
  CHECK(run(store, "requests{job=\"api\",instance!=\"0\"}", 100) ==
        "requests{instance=\"1\",job=\"api\"} 200\n");
  CHECK(run(store, "{__name__=~\"req.*\",job!~\"a.i\"}", 100) ==
        "requests{instance=\"0\",job=\"web\"} 300\n");
  CHECK(run(store, "requests{nothing=\"\",job=\"web\"}", 100) ==
        "requests{instance=\"0\",job=\"web\"} 300\n");
  CHECK(run(store, "nothing", 100).empty());
}

TEST_CASE_METHOD(
    Loaded, "an instant looks back five minutes, the left edge left out, and not past a staleness marker") {
  CHECK(run(store, "up", 329.999) == "up 1\n");
  CHECK(run(store, "up", 330).empty());
  CHECK(run(store, "gone", 29.999) == "gone 3\n");
  CHECK(run(store, "gone", 30).empty());
  CHECK(run(store, "gone", 49).empty());
  CHECK(run(store, "gone", 50) == "gone 7\n");
  CHECK(run(store, "up", -1).empty());
}

TEST_CASE_METHOD(Loaded, "a range leaves its left edge and staleness markers out") {
  CHECK(run(store, "gone[40s]", 50) == "gone 3@20 7@50\n");
  CHECK(run(store, "up[20s]", 30) == "up 0@20 1@30\n");
  CHECK(run(store, "count_over_time(gone[1m])", 50) == "{} 4\n");
  CHECK(run(store, "gone[5s]", 37).empty());
}

TEST_CASE_METHOD(Loaded, "offset and @ move what is read, never the time of the result") {
  CHECK(run(store, "requests{job=\"web\"} offset 50s", 100) == "requests{instance=\"0\",job=\"web\"} 150\n");
  CHECK(run(store, "requests{job=\"web\"} offset -50s", 100) == "requests{instance=\"0\",job=\"web\"} 450\n");
  CHECK(run(store, "requests{job=\"web\"} @ 200", 100) == "requests{instance=\"0\",job=\"web\"} 600\n");
  CHECK(run(store, "requests{job=\"web\"} @ 200 offset 50s", 100) ==
        "requests{instance=\"0\",job=\"web\"} 450\n");
  CHECK(run(store, "requests{job=\"web\"} offset 50s @ 200", 100) ==
        "requests{instance=\"0\",job=\"web\"} 450\n");
  CHECK(run(store, "up[20s] @ 30", 1000) == "up 0@20 1@30\n");
  CHECK(run_range(store, "requests{job=\"web\"} @ start()", 100, 140, 20) ==
        "requests{instance=\"0\",job=\"web\"} 300@100 300@120 300@140\n");
  CHECK(run_range(store, "requests{job=\"web\"} @ end()", 100, 140, 20) ==
        "requests{instance=\"0\",job=\"web\"} 420@100 420@120 420@140\n");
  CHECK(run(store, "timestamp(up @ 30 offset 20s)", 100) == "{} 10\n");
  CHECK(run(store, "timestamp(up @ 10 offset -20s)", 100) ==
        "{} 10\n");  // as Prometheus has it, not as one would expect
  CHECK(run_range(store, "timestamp(up @ 20)", 100, 120, 10) == "{} 20@100 20@110 20@120\n");
}

TEST_CASE_METHOD(Loaded, "a subquery's steps are multiples of its resolution, 15 s if it gives none") {
  CHECK(run(store, "up[25s:7s]", 30) == "up 1@7 1@14 0@21 0@28\n");
  CHECK(run(store, "up[30s:]", 30) == "up 1@15 1@30\n");
  CHECK(run(store, "(requests{job=\"web\"} / 10)[30s:10s] offset 10s", 100) ==
        "{instance=\"0\",job=\"web\"} 21@70 24@80 27@90\n");
  CHECK(run(store, "max_over_time(rate(requests{job=\"web\"}[20s])[1m:10s])", 100) ==
        "{instance=\"0\",job=\"web\"} 3\n");
  CHECK(run(store, "sum_over_time(time()[20s:5s])", 100) ==
        "1:15: a subquery is only allowed on an instant vector, not a scalar; vector(...) makes one of a "
        "scalar\n");
  CHECK(run(store, "sum_over_time(vector(time())[20s:5s])", 100) == "{} 370\n");
  CHECK(run(store, "vector(time())[20s:10s] @ 50", 100) == "{} 40@40 50@50\n");
  CHECK(run(store, "last_over_time((requests{job=\"web\"} @ 100)[20s:10s])", 500) ==
        "requests{instance=\"0\",job=\"web\"} 300\n");
  CHECK(run_range(store, "sum_over_time(vector(1)[20s:5s])", 100, 110, 5) == "{} 4@100 4@105 4@110\n");
}

TEST_CASE_METHOD(Loaded, "a range query slides over the same data") {
  CHECK(run_range(store, "gone", 0, 60, 10) == "gone 1@0 2@10 3@20 7@50 7@60\n");
  CHECK(run_range(store, "sum_over_time(gone[25s])", 0, 60, 10) == "{} 1@0 3@10 6@20 5@30 3@40 7@50 7@60\n");
  CHECK(run_range(store, "1", 0, 10, 5) == "{} 1@0 1@5 1@10\n");
  CHECK(run_range(store, "time() * 2", 0, 10, 5) == "{} 0@0 10@5 20@10\n");
  CHECK(run_range(store, "up", 10, 0, 5).empty());
  CHECK(run_range(store, "up[5m]", 0, 10, 5) ==
        "error: invalid expression type \"range vector\" for range query, must be Scalar or instant Vector");
  CHECK(run_range(store, "'up'", 0, 10, 5) ==
        "error: invalid expression type \"string\" for range query, must be Scalar or instant Vector");
  CHECK(run_range(store, "up", 0, 10, 0) ==
        "error: zero or negative query resolution step widths are not accepted. Try a positive integer");
}

TEST_CASE_METHOD(Loaded, "each type of value has its form") {
  CHECK(run(store, "1 + 2", 0) == "3");
  CHECK(run(store, "('a\\tb')", 0) == "\"a\\x09b\"");
  CHECK(run(store, "5m", 0) == "300");
  CHECK(run(store, "vector(3)", 0) == "{} 3\n");
}

TEST_CASE("what an expression reads is known without evaluating it") {
  const auto of = [](std::string_view text) { return std::get<Expression>(parse(text)); };
  CHECK(of("1").reach() == 0s);
  CHECK(of("x").reach() == 5min);
  CHECK(of("x offset 1h").reach() == 65min);
  CHECK(of("x offset -1h").reach() == 0s);
  CHECK(of("rate(x[10m] offset 5m) + y").reach() == 15min);
  CHECK(of("max_over_time(rate(x[10m])[1h:1m] offset 1d)").reach() == 24h + 70min);
  CHECK(of("x @ 5").reach() == 5min);
  const auto selectors = of("a{x=\"1\"} + sum(rate(b[5m])) > topk(scalar(c), d)").selectors();
  REQUIRE(selectors.size() == 4);
  CHECK(selectors[0].size() == 2);
  CHECK(selectors[1][0].value() == "b");
  CHECK(selectors[2][0].value() == "c");
  CHECK(selectors[3][0].value() == "d");
}
