// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

struct Grouped {
  store::Store store{{.retention = 24h}};
  Grouped() {
    load(store, 10s, R"(
      r{job="api",i="0"} 10 1
      r{job="api",i="1"} 20 2
      r{job="api",i="2"} 60 3
      r{job="web",i="0"} 5 _
      n{i="0"} NaN
      n{i="1"} 3
      n{i="2"} -1
      n{i="3"} Inf
    )");
  }
};

}  // namespace

TEST_CASE_METHOD(Grouped, "groups are by labels, or without some") {
  CHECK(run(store, "sum(r)", 0) == "{} 95\n");
  CHECK(run(store, "sum by (job) (r)", 0) == "{job=\"api\"} 90\n{job=\"web\"} 5\n");
  CHECK(run(store, "sum(r) without (i)", 0) == "{job=\"api\"} 90\n{job=\"web\"} 5\n");
  CHECK(run(store, "sum by (nothing) (r)", 0) == "{} 95\n");
  CHECK(run(store, "sum by (__name__, i) (r)", 0) == "r{i=\"0\"} 15\nr{i=\"1\"} 20\nr{i=\"2\"} 60\n");
  CHECK(run(store, "sum without () (r{i=\"1\"})", 0) == "{i=\"1\",job=\"api\"} 20\n");
  CHECK(run(store, "sum(nothing)", 0).empty());
}

TEST_CASE_METHOD(Grouped, "each aggregation") {
  CHECK(run(store, "min by (job) (r)", 0) == "{job=\"api\"} 10\n{job=\"web\"} 5\n");
  CHECK(run(store, "max by (job) (r)", 0) == "{job=\"api\"} 60\n{job=\"web\"} 5\n");
  CHECK(run(store, "avg by (job) (r)", 0) == "{job=\"api\"} 30\n{job=\"web\"} 5\n");
  CHECK(run(store, "count by (job) (r)", 0) == "{job=\"api\"} 3\n{job=\"web\"} 1\n");
  CHECK(run(store, "group by (job) (r)", 0) == "{job=\"api\"} 1\n{job=\"web\"} 1\n");
  CHECK(run(store, "stdvar by (job) (r)", 0) == "{job=\"api\"} 466.6666666666667\n{job=\"web\"} 0\n");
  CHECK(run(store, "stddev(r{job=\"api\"})", 0) == "{} 21.602468994692867\n");
  CHECK(run(store, "quantile by (job) (0.5, r)", 0) == "{job=\"api\"} 20\n{job=\"web\"} 5\n");
  CHECK(run(store, "quantile(0.75, r{job=\"api\"})", 0) == "{} 40\n");
  CHECK(run(store, "quantile(scalar(nothing), r)", 0) == "{} NaN\n");
}

TEST_CASE_METHOD(Grouped, "NaN and infinity") {
  CHECK(run(store, "max(n)", 0) == "{} +Inf\n");
  CHECK(run(store, "min(n)", 0) == "{} -1\n");
  CHECK(run(store, "sum(n)", 0) == "{} NaN\n");
  CHECK(run(store, "avg(n{i=~\"1|3\"})", 0) == "{} +Inf\n");
  CHECK(run(store, "stddev(n{i=~\"1|3\"})", 0) == "{} NaN\n");
  CHECK(run(store, "max(n{i=\"0\"})", 0) == "{} NaN\n");
  CHECK(run(store, "quantile(0, n)", 0) == "{} NaN\n");
}

TEST_CASE_METHOD(Grouped, "the k best keep their labels, best first, NaN last") {
  CHECK(run(store, "topk(2, r)", 0) == "r{i=\"2\",job=\"api\"} 60\nr{i=\"1\",job=\"api\"} 20\n");
  CHECK(run(store, "bottomk(2, r)", 0) == "r{i=\"0\",job=\"web\"} 5\nr{i=\"0\",job=\"api\"} 10\n");
  CHECK(run(store, "topk by (job) (1, r)", 0) == "r{i=\"2\",job=\"api\"} 60\nr{i=\"0\",job=\"web\"} 5\n");
  CHECK(run(store, "topk(3, n)", 0) == "n{i=\"3\"} +Inf\nn{i=\"1\"} 3\nn{i=\"2\"} -1\n");
  CHECK(run(store, "bottomk(4, n)", 0) == "n{i=\"2\"} -1\nn{i=\"1\"} 3\nn{i=\"3\"} +Inf\nn{i=\"0\"} NaN\n");
  CHECK(run(store, "topk(0.9, r)", 0).empty());
  CHECK(run(store, "topk(-1, r)", 0).empty());
  CHECK(run(store, "topk(1.9, r)", 0) == "r{i=\"2\",job=\"api\"} 60\n");
  CHECK(run(store, "topk(100, r{job=\"web\"})", 0) == "r{i=\"0\",job=\"web\"} 5\n");
  CHECK(run(store, "topk(NaN, r)", 0) == "error: Parameter value is NaN");
  CHECK(run(store, "topk(1e19, r)", 0) == "error: Scalar value 1e+19 overflows int64");
  CHECK(run_range(store, "topk(1, r)", 0, 10, 10) ==
        "r{i=\"0\",job=\"web\"} 5@10\nr{i=\"2\",job=\"api\"} 60@0\n");
  CHECK(run_range(store, "bottomk(1 + time() / 10, r{job=\"api\"})", 0, 10, 10) ==
        "r{i=\"0\",job=\"api\"} 10@0 1@10\nr{i=\"1\",job=\"api\"} 2@10\n");
}

TEST_CASE_METHOD(Grouped, "values are counted under the label that is asked for") {
  CHECK(run(store, "count_values('v', r > 5 or r == 5)", 0) ==
        "{v=\"10\"} 1\n{v=\"20\"} 1\n{v=\"60\"} 1\n{v=\"5\"} 1\n");
  CHECK(run(store, "count_values by (job) ('v', r * 0 + 1e21)", 0) ==
        "{job=\"api\",v=\"1000000000000000000000\"} 3\n{job=\"web\",v=\"1000000000000000000000\"} 1\n");
  CHECK(run(store, "count_values without (i) ('job', n)", 0) ==
        "{job=\"NaN\"} 1\n{job=\"3\"} 1\n{job=\"-1\"} 1\n{job=\"+Inf\"} 1\n");
  CHECK(run(store, "count_values('', r)", 0) ==
        "1:1: 'count_values' needs the name of a label; as in count_values(\"version\", x)\n");
  CHECK(run(store, "count_values('a\\xc5z', r)", 0) == "error: invalid label name \"a\xc5z\"");
  CHECK(run_range(store, "count_values('v', r{i=\"0\"} > 4)", 0, 10, 10) ==
        "{v=\"10\"} 1@0\n{v=\"5\"} 1@0 1@10\n");
}
