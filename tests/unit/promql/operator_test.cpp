// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

struct Matched {
  store::Store store{{.retention = 24h}};
  Matched() {
    load(store, 10s, R"(
      errors{method="get",code="500"} 24
      errors{method="get",code="404"} 30
      errors{method="put",code="501"} 3
      errors{method="post",code="500"} 6
      requests{method="get"} 600
      requests{method="del"} 34
      requests{method="post"} 120
      info{method="get",owner="alice"} 1
      info{method="post",owner="bob"} 1
      a{x="1"} 1
      b{x="1"} 4
      twice{method="get",n="1"} 1
      twice{method="get",n="2"} 2
      comes_and_goes{x="1"} 1 1 stale _ 1
    )");
  }
};

}  // namespace

TEST_CASE_METHOD(Matched, "operators bind as in Prometheus") {
  CHECK(run(store, "1 + 2 * 3 ^ 2 ^ 0", 0) == "7");
  CHECK(run(store, "-2 ^ 2", 0) == "-4");
  CHECK(run(store, "2 ^ -1", 0) == "0.5");
  CHECK(run(store, "-2^---1*3", 0) == "-1.5");
  CHECK(run(store, "7 % 4 - -7 % 4", 0) == "6");
  CHECK(run(store, "10 - 2 - 3", 0) == "5");
  CHECK(run(store, "1 / 0 > bool 5", 0) == "1");
  CHECK(run(store, "1 == bool 1 != bool 0", 0) == "1");
  CHECK(run(store, "NaN == bool NaN", 0) == "0");
  CHECK(run(store, "0 / 0", 0) == "NaN");
}

TEST_CASE_METHOD(Matched, "a vector and a scalar") {
  CHECK(run(store, "a + 1", 0) == "{x=\"1\"} 2\n");
  CHECK(run(store, "10 - b", 0) == "{x=\"1\"} 6\n");
  CHECK(run(store, "b > 3", 0) == "b{x=\"1\"} 4\n");
  CHECK(run(store, "3 < b", 0) == "b{x=\"1\"} 4\n");  // the vector's value, not the scalar's
  CHECK(run(store, "b > 4", 0).empty());
  CHECK(run(store, "b > bool 4", 0) == "{x=\"1\"} 0\n");
  CHECK(run(store, "5 > bool b", 0) == "{x=\"1\"} 1\n");
  CHECK(run(store, "a ^ scalar(b) % 2", 0) == "{x=\"1\"} 1\n");
}

TEST_CASE_METHOD(Matched, "one to one: labels that are matched by, names, comparisons") {
  CHECK(run(store, "b - a", 0) == "{x=\"1\"} 3\n");
  CHECK(run(store, "b > a", 0) == "b{x=\"1\"} 4\n");
  CHECK(run(store, "b < a", 0).empty());
  CHECK(run(store, "b < bool a", 0) == "{x=\"1\"} 0\n");
  CHECK(run(store, "b > on(x) a", 0) == "{x=\"1\"} 4\n");
  CHECK(run(store, "b > ignoring(x) a", 0) == "b 4\n");
  CHECK(run(store, "b > on() a", 0) == "{} 4\n");
  CHECK(run(store, "errors{code=\"500\"} / ignoring(code) requests", 0) ==
        "{method=\"get\"} 0.04\n{method=\"post\"} 0.05\n");
  CHECK(run(store, "errors{code=\"500\"} / on(method) requests", 0) ==
        "{method=\"get\"} 0.04\n{method=\"post\"} 0.05\n");
  CHECK(run(store, "errors / requests", 0).empty());
}

TEST_CASE_METHOD(Matched, "many to one keeps the labels of the many and takes those asked for") {
  CHECK(run(store, "errors / ignoring(code) group_left requests", 0) ==
        "{code=\"404\",method=\"get\"} 0.05\n{code=\"500\",method=\"get\"} "
        "0.04\n{code=\"500\",method=\"post\"} 0.05\n");
  CHECK(run(store, "requests / ignoring(code) group_right errors", 0) ==
        "{code=\"404\",method=\"get\"} 20\n{code=\"500\",method=\"get\"} 25\n{code=\"500\",method=\"post\"} "
        "20\n");
  CHECK(run(store, "errors * on(method) group_left(owner) info", 0) ==
        "{code=\"404\",method=\"get\",owner=\"alice\"} 30\n{code=\"500\",method=\"get\",owner=\"alice\"} "
        "24\n{code=\"500\",method=\"post\",owner=\"bob\"} 6\n");
  CHECK(run(store, "errors > on(method) group_left(owner) info * 25", 0) ==
        "errors{code=\"404\",method=\"get\",owner=\"alice\"} 30\n");
  CHECK(run(store, "requests{method=\"get\"} > on(method) group_right errors", 0) ==
        "errors{code=\"404\",method=\"get\"} 600\nerrors{code=\"500\",method=\"get\"} 600\n");
}

TEST_CASE_METHOD(Matched, "ambiguous matches are Prometheus' errors") {
  CHECK(run(store, "requests / on(method) twice", 0) ==
        "error: found duplicate series for the match group {method=\"get\"} on the right hand-side of the "
        "operation: "
        "[twice{method=\"get\",n=\"2\"}, twice{method=\"get\",n=\"1\"}];many-to-many matching not allowed: "
        "matching labels must be unique on one side");
  CHECK(run(store, "twice * on(method) group_right requests", 0) ==
        "error: found duplicate series for the match group {method=\"get\"} on the left hand-side of the "
        "operation: "
        "[twice{method=\"get\",n=\"2\"}, twice{method=\"get\",n=\"1\"}];many-to-many matching not allowed: "
        "matching labels must be unique on one side");
  CHECK(run(store, "twice / on(method) requests", 0) ==
        "error: multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)");
  CHECK(run(store, "twice * on(method) group_left(n) requests", 0) ==
        "error: multiple matches for labels: grouping labels must ensure unique matches");
  CHECK(run(store, "nothing / on(method) twice", 0).empty());
  CHECK(run(store, "twice > on(method) info", 0) ==
        "{method=\"get\"} 2\n");  // one match is filtered out, one stays
  CHECK(run(store, "-{__name__=~\"a|b\"}", 0) ==
        "error: vector cannot contain metrics with the same labelset");
  CHECK(run(store, "{__name__=~\"a|b\"} * 2", 0) ==
        "error: vector cannot contain metrics with the same labelset");
  CHECK(run(store, "{__name__=~\"a|b\"} > 0", 0) == "a{x=\"1\"} 1\nb{x=\"1\"} 4\n");
}

TEST_CASE_METHOD(Matched, "set operators") {
  CHECK(run(store, "errors and on(method) info", 0) ==
        "errors{code=\"404\",method=\"get\"} 30\nerrors{code=\"500\",method=\"get\"} "
        "24\nerrors{code=\"500\",method=\"post\"} 6\n");
  CHECK(run(store, "errors unless on(method) info", 0) == "errors{code=\"501\",method=\"put\"} 3\n");
  CHECK(run(store, "a or b", 0) == "a{x=\"1\"} 1\n");  // names are not matched by
  CHECK(run(store, "a or on(__name__) b", 0) == "a{x=\"1\"} 1\nb{x=\"1\"} 4\n");
  CHECK(run(store, "a or on() requests", 0) == "a{x=\"1\"} 1\n");
  CHECK(run(store, "nothing or a", 0) == "a{x=\"1\"} 1\n");
  CHECK(run(store, "a and nothing", 0).empty());
  CHECK(run(store, "a unless nothing", 0) == "a{x=\"1\"} 1\n");
  CHECK(run(store, "a and vector(1)", 0).empty());
  CHECK(run(store, "a and on() vector(1)", 0) == "a{x=\"1\"} 1\n");
  CHECK(run(store, "a == 1 or b == 4 and b == 5", 0) == "a{x=\"1\"} 1\n");
}

TEST_CASE_METHOD(Matched, "each step of a range query is matched for itself") {
  CHECK(run_range(store, "comes_and_goes or a * 10", 0, 40, 10) ==
        "comes_and_goes{x=\"1\"} 1@0 1@10 1@40\n{x=\"1\"} 10@20 10@30\n");
  CHECK(run_range(store, "comes_and_goes + a", 0, 40, 10) == "{x=\"1\"} 2@0 2@10 2@40\n");
  CHECK(run_range(store, "a unless comes_and_goes", 0, 40, 10) == "a{x=\"1\"} 1@20 1@30\n");
  CHECK(run_range(store, "-(comes_and_goes or a)", 0, 40, 10) == "{x=\"1\"} -1@0 -1@10 -1@20 -1@30 -1@40\n");
  CHECK(run_range(store, "time() > bool 15", 0, 20, 10) == "{} 0@0 0@10 1@20\n");
}
