// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

struct Valued {
  store::Store store{{.retention = 24h}};
  Valued() {
    load(store, 10s, R"(
      g{x="a"} -2.5
      g{x="b"} 0
      g{x="c"} 2.5
      g{x="d"} NaN
      one{src="source-value-10",dst="original"} 7
      pair{src="a",same="1"} 1
      pair{src="b",same="1"} 2
    )");
  }
  std::string four(std::string_view function) const { return run(store, function, 0); }
};

std::string abcd(const char* a, const char* b, const char* c, const char* d) {
  return fmt::format("{{x=\"a\"}} {}\n{{x=\"b\"}} {}\n{{x=\"c\"}} {}\n{{x=\"d\"}} {}\n", a, b, c, d);
}

}  // namespace

TEST_CASE_METHOD(Valued, "functions of each value drop the name") {
  CHECK(four("abs(g)") == abcd("2.5", "0", "2.5", "NaN"));
  CHECK(four("ceil(g)") == abcd("-2", "0", "3", "NaN"));
  CHECK(four("floor(g)") == abcd("-3", "0", "2", "NaN"));
  CHECK(four("round(g)") == abcd("-2", "0", "3", "NaN"));
  CHECK(four("round(g, 5)") == abcd("0", "0", "5", "NaN"));
  CHECK(four("sgn(g)") == abcd("-1", "0", "1", "NaN"));
  CHECK(four("exp(g * 0)") == abcd("1", "1", "1", "NaN"));
  CHECK(four("ln(g)") == abcd("NaN", "-Inf", "0.9162907318741551", "NaN"));
  CHECK(four("log2(g + 1.5)") == abcd("NaN", "0.5849625007211562", "2", "NaN"));
  CHECK(four("log10(g + 97.5)") == abcd("1.9777236052888478", "1.9890046156985368", "2", "NaN"));
  CHECK(four("sqrt(g + 2.5)") == abcd("0", "1.5811388300841898", "2.23606797749979", "NaN"));
  CHECK(four("clamp(g, -1, 1)") == abcd("-1", "0", "1", "NaN"));
  CHECK(four("clamp_min(g, 1)") == abcd("1", "1", "2.5", "NaN"));
  CHECK(four("clamp_max(g, 1)") == abcd("-2.5", "0", "1", "NaN"));
  CHECK(four("clamp_max(g, NaN)") == abcd("NaN", "NaN", "NaN", "NaN"));
  CHECK(four("clamp(g, 1, -1)").empty());
  CHECK(four("-g") == abcd("2.5", "-0", "-2.5", "NaN"));
  CHECK(four("+g{x=\"c\"}") == "g{x=\"c\"} 2.5\n");
}

TEST_CASE_METHOD(Valued, "sorting puts NaN last either way") {
  CHECK(run(store, "sort(g)", 0) == "g{x=\"a\"} -2.5\ng{x=\"b\"} 0\ng{x=\"c\"} 2.5\ng{x=\"d\"} NaN\n");
  CHECK(run(store, "sort_desc(g)", 0) == "g{x=\"c\"} 2.5\ng{x=\"b\"} 0\ng{x=\"a\"} -2.5\ng{x=\"d\"} NaN\n");
}

TEST_CASE_METHOD(Valued, "scalar, vector, time and timestamp") {
  CHECK(run(store, "scalar(one)", 0) == "7");
  CHECK(run(store, "scalar(pair)", 0) == "NaN");
  CHECK(run(store, "scalar(nothing)", 0) == "NaN");
  CHECK(run(store, "vector(scalar(one) + 1)", 0) == "{} 8\n");
  CHECK(run(store, "time()", 12.5) == "12.5");
  CHECK(run(store, "timestamp(one)", 60) == "{dst=\"original\",src=\"source-value-10\"} 0\n");
  CHECK(run(store, "timestamp((one))", 60) == "{dst=\"original\",src=\"source-value-10\"} 0\n");
  CHECK(run(store, "timestamp(one + 1)", 60) == "{dst=\"original\",src=\"source-value-10\"} 60\n");
  CHECK(run(store, "clamp_max(one, scalar(one) - 1)", 0) == "{dst=\"original\",src=\"source-value-10\"} 6\n");
}

TEST_CASE_METHOD(Valued, "what is absent has the labels that the selector demands") {
  CHECK(run(store, "absent(one)", 0).empty());
  CHECK(run(store, "absent(nothing)", 0) == "{} 1\n");
  CHECK(run(store, "absent(nothing{a=\"1\",b=~\"x\",c=\"2\",d!=\"3\"})", 0) == "{a=\"1\",c=\"2\"} 1\n");
  CHECK(run(store, "absent(nothing{a=\"1\",a=\"2\",b=\"3\"})", 0) == "{b=\"3\"} 1\n");
  CHECK(run(store, "absent((nothing{a=\"1\"}))", 0) == "{a=\"1\"} 1\n");
  CHECK(run(store, "absent(sum(nothing{a=\"1\"}))", 0) == "{} 1\n");
  CHECK(run(store, "absent_over_time(nothing{a=\"1\"}[5m])", 0) == "{a=\"1\"} 1\n");
  CHECK(run(store, "absent_over_time(one[5m])", 60).empty());
  CHECK(run(store, "absent_over_time((nothing{a=\"1\"} + 1)[5m:1m])", 60) == "{} 1\n");
  CHECK(run_range(store, "absent(one)", 0, 400, 100) == "{} 1@300 1@400\n");
  CHECK(run_range(store, "absent_over_time(one[150s])", 0, 400, 100) == "{} 1@200 1@300 1@400\n");
}

TEST_CASE_METHOD(Valued, "label_replace expands groups as Go does") {
  const auto dst = [&](std::string_view replacement, std::string_view regex) {
    const auto got =
        run(store, fmt::format("label_replace(one, 'dst', '{}', 'src', '{}')", replacement, regex), 0);
    return got.substr(0, got.find(",src="));
  };
  CHECK(dst("value-$1", "source-value-(.*)") == "one{dst=\"value-10\"");
  CHECK(dst("${1}x$2", "(.*)-value-(.*)") == "one{dst=\"sourcex10\"");
  CHECK(dst("$1x", "source-(.*)") ==
        "one{src=\"source-value-10\"} 7\n");  // $1x names no group: empty, so no label
  CHECK(dst("$name!", "(?P<name>[a-z]+)-.*") == "one{dst=\"source!\"");
  CHECK(dst("$0$$1", "s.*") == "one{dst=\"source-value-10$1\"");
  CHECK(dst("a$", "s.*") == "one{dst=\"a$\"");
  CHECK(dst("${1", "(s.*)") == "one{dst=\"${1\"");
  CHECK(dst("x$9y", "(s.*)") == "one{dst=\"x\"");
  CHECK(dst("new", "value") == "one{dst=\"original\"");  // anchored: no match, no change
  CHECK(dst("", ".*") == "one{src=\"source-value-10\"} 7\n");
}

TEST_CASE_METHOD(Valued, "labels that a function makes can name, join and collide") {
  CHECK(run(store, "label_replace(one, '__name__', 'two', '', '')", 0) ==
        "two{dst=\"original\",src=\"source-value-10\"} 7\n");
  CHECK(run(store, "label_replace(-one, '__name__', 'minus_$1', 'src', '.*-(\\\\d+)')", 0) ==
        "minus_10{dst=\"original\",src=\"source-value-10\"} -7\n");
  CHECK(run(store, "label_join(one, 'all', '/', 'src', 'dst', 'none')", 0) ==
        "one{all=\"source-value-10/original/\",dst=\"original\",src=\"source-value-10\"} 7\n");
  CHECK(run(store, "label_join(one, 'dst', '/')", 0) == "one{src=\"source-value-10\"} 7\n");
  const std::string collision = "error: vector cannot contain metrics with the same labelset";
  CHECK(run(store, "label_replace(pair, 'src', '', 'src', '.*')", 0) == collision);
  CHECK(run(store, "label_join(pair, 'src', '', 'same')", 0) == collision);
  CHECK(run(store, "label_replace(one, 'dst', '', 'src', '(')", 0) ==
        "error: invalid regular expression in label_replace(): (");
  CHECK(run(store, "label_replace(one, '', '', 'src', '')", 0) ==
        "error: invalid destination label name in label_replace(): ");
  CHECK(run(store, "label_replace(one, '\\xff', 'a', 'src', '.*')", 0) ==
        "error: invalid destination label name in label_replace(): \xff");
  CHECK(run(store, "label_join(one, 'a', '', '')", 0) ==
        "error: invalid source label name in label_join(): ");
}
