// SPDX-License-Identifier: Apache-2.0
// Where Prometheus 3 and Prometheus 2.42 (Debian's, which judges the random cases) differ, we do as 3 does.
// Such cases are kept out of the random ones and stand here.
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

TEST_CASE("differences between Prometheus 2 and 3, as 3 has them") {
  store::Store store({.retention = 24h});
  load(store, 10s, R"(
    up 1x40
    late _ _ _ _ _ 8+10x4
    lines{text="a\nb"} 1
    unknown NaN
    big{i="1"} 1e100
    big{i="2"} 1
    big{i="3"} -1e100
    huge 1e200 2e200 5e200
    one{k="x"} 3
  )");
  struct Row {
    const char *what, *expression;
    double when;
    const char *in_3, *in_2;  // in_2: for the reader
  };
  const Row rows[] = {
      {"a range leaves its left edge out", "count_over_time(up[20s])", 100, "{} 2\n", "{} 3\n"},
      {"so a range of one interval holds one point", "rate(up[10s])", 100, "", "{} 0\n"},
      {"the look-back leaves its left edge out", "up", 700, "", "up 1\n"},
      {"a subquery leaves its left edge out", "count_over_time(vector(1)[20s:10s])", 100, "{} 2\n", "{} 3\n"},
      {"a subquery without a step in it is empty", "vector(1)[5s:1m]", 30, "", "{} 1@60\n"},
      {"'.' matches a newline in a matcher", "lines{text=~\"a.b\"}", 0, "lines{text=\"a\\nb\"} 1\n", ""},
      {"'.' matches a newline in label_replace", "label_replace(lines, \"text\", \"x\", \"text\", \"a.b\")",
       0, "lines{text=\"x\"} 1\n", "lines{text=\"a\\nb\"} 1\n"},
      {"a late counter is followed half an interval back, not to its zero", "increase(late[100s])", 90,
       "{} 45\n", "{} 48\n"},
      {"the deviation of NaN alone is NaN", "stddev(unknown)", 0, "{} NaN\n", "{} 0\n"},
      {"sums are compensated", "sum(big)", 0, "{} 1\n", "{} 0\n"},
      {"a sum that overflows is infinite", "stdvar_over_time(huge[1m])", 20, "{} +Inf\n", "{} NaN\n"},
      {"any UTF-8 is a label name", "label_replace(one, \"a b\", \"y\", \"k\", \"x\")", 0,
       "one{a b=\"y\",k=\"x\"} 3\n", "an error"},
      {"a number of seconds is a duration", "count_over_time(up[20])", 100, "{} 2\n", "an error"},
      {"and a duration is a number of seconds", "2 * 1m30s", 0, "180", "an error"},
      {"NaN is told as such", "topk(NaN, up)", 0, "error: Parameter value is NaN", "another error"},
  };
  for (const auto& row : rows) {
    INFO(row.what << "; in Prometheus 2: " << row.in_2);
    CHECK(run(store, row.expression, row.when) == row.in_3);
  }
}
