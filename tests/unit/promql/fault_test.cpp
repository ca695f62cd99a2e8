// SPDX-License-Identifier: Apache-2.0
// What a user can type wrong, and the whole of what is said about it.
#include <catch2/catch.hpp>
#include <random>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;

namespace {

std::string said(std::string_view text) {
  const auto parsed = parse(text);
  const auto* list = std::get_if<std::vector<ParseError>>(&parsed);
  return list != nullptr ? faults(*list) : "fine: " + std::get<Expression>(parsed).text();
}

}  // namespace

TEST_CASE("every fault says where, what, and what would be right") {
  struct Row {
    const char *text, *expected;
  };
  const Row rows[] = {
      {"", "1:1: the expression is empty\n"},
      {"  \n # only a comment", "2:18: unexpected the end; expected an expression\n"},
      {"rat(x[5m])", "1:1: unknown function 'rat'; did you mean 'rate'?\n"},
      {"1 +\n  summ(x)", "2:3: unknown function 'summ'; did you mean 'sum'?\n"},
      {"frobnicate(x)", "1:1: unknown function 'frobnicate'\n"},
      {"rate(x)",
       "1:6: argument 1 of 'rate' must be a range vector, not an instant vector; a range makes it one, as in "
       "x[5m] or (x + y)[5m:1m]\n"},
      {"abs(x[5m])",
       "1:5: argument 1 of 'abs' must be an instant vector, not a range vector; leave the range out, or take "
       "a function of it, as in last_over_time(x[5m])\n"},
      {"abs(1)",
       "1:5: argument 1 of 'abs' must be an instant vector, not a scalar; vector(...) makes one of a "
       "scalar\n"},
      {"clamp_max(x, y)",
       "1:14: argument 2 of 'clamp_max' must be a scalar, not an instant vector; scalar(...) makes one of a "
       "vector with one element\n"},
      {"label_join(x, \"a\", \",\", b)",
       "1:25: argument 4 of 'label_join' must be a string, not an instant vector\n"},
      {"clamp(x, 1)", "1:1: function 'clamp' takes 3 argument(s), got 2\n"},
      {"round(x, 1, 2)", "1:1: function 'round' takes at most 2 argument(s), got 3\n"},
      {"label_join(x, \"a\")", "1:1: function 'label_join' takes at least 3 argument(s), got 2\n"},
      {"time(1)", "1:1: function 'time' takes 0 argument(s), got 1\n"},
      {"topk(x)", "1:1: 'topk' takes 2 argument(s), got 1; as in topk(2, x)\n"},
      {"sum(x, y)", "1:1: 'sum' takes 1 argument(s), got 2\n"},
      {"count_values(1, x)", "1:14: the parameter of 'count_values' is a string, not a scalar\n"},
      {"sum(5)",
       "1:5: 'sum' aggregates an instant vector, not a scalar; vector(...) makes one of a scalar\n"},
      {"1 > 2", "1:3: comparisons between scalars must use 'bool'; write > bool\n"},
      {"x + bool y", "1:3: 'bool' can only follow a comparison, not '+'; leave 'bool' out\n"},
      {"x and 1",
       "1:3: set operator 'and' needs instant vectors on both sides; vector(...) makes one of a scalar\n"},
      {"x or on(a) group_left y",
       "1:3: no grouping is allowed for 'or': set operations are always many-to-many; leave group_left or "
       "group_right out\n"},
      {"x * group_left y",
       "1:5: 'group_left' needs 'on' or 'ignoring' before it; as in a * on(device) group_left b\n"},
      {"x * on(a) group_left(a) y",
       "1:3: label 'a' must not occur in 'on' and in group_left or group_right at once\n"},
      {"x + on(a) 1",
       "1:3: vector matching is only allowed between instant vectors; leave 'on' or 'ignoring' out\n"},
      {"x[5m] + 1",
       "1:1: an operator takes scalars and instant vectors, not a range vector; leave the range out, or take "
       "a function of it, as in "
       "last_over_time(x[5m])\n"},
      {"\"a\" + 1", "1:1: an operator takes scalars and instant vectors, not a string\n"},
      {"-x[5m]", "1:1: a sign is only allowed before a scalar or an instant vector, not a range vector\n"},
      {"{}",
       "1:1: a selector must contain at least one matcher that does not match the empty string; give the "
       "metric's name\n"},
      {"{a=~\".*\"}",
       "1:1: a selector must contain at least one matcher that does not match the empty string; give the "
       "metric's name\n"},
      {"x{__name__=\"y\"}",
       "1:1: the metric's name must not be set twice: 'x' and __name__; leave one out\n"},
      {"x{a=~\"(\"}", "1:6: '(' is not a regular expression: missing ): (\n"},
      {"x{a==\"b\"}", "1:4: unexpected '=='; expected =, !=, =~ or !~\n"},
      {"x{a=b}", "1:5: unexpected 'b'; expected a string in quotes\n"},
      {"x{a=\"b\" c=\"d\"}", "1:9: unexpected 'c'; expected ',' or '}'\n"},
      {"x{a=\"b\"", "1:8: unexpected the end; expected ',' or '}'\n"},
      {"x[5]m", "1:5: unexpected 'm'; expected an operator or the end\n"},
      {"x[5x]",
       "1:3: '5x' is neither a number nor a duration; numbers are like 5, 0.5, 1e6, 0xff, Inf; durations "
       "like 5m, 1h30m\n"},
      {"x[0s]", "1:3: the duration must be greater than 0\n"},
      {"x[-5m]", "1:3: unexpected '-'; expected a duration, as in 5m\n"},
      {"x[5m", "1:5: unexpected the end; expected ':' or ']'\n"},
      {"(x + y)[5m]",
       "1:8: a range is only allowed after a selector; a subquery takes any expression: (x + y)[5m:1m]\n"},
      {"x offset 5m[5m]", "1:12: 'offset' and '@' come after the range; as in x[5m] offset 1h\n"},
      {"x[5m][5m:]",
       "1:1: a subquery is only allowed on an instant vector, not a range vector; leave the range out, or "
       "take a function of it, as in "
       "last_over_time(x[5m])\n"},
      {"(x + y) offset 5m",
       "1:9: 'offset' must follow a selector, a range or a subquery; put it inside, after each selector\n"},
      {"sum(x) @ 5",
       "1:8: '@' must follow a selector, a range or a subquery; put it inside, after each selector\n"},
      {"x offset 5m offset 5m", "1:13: 'offset' may not be set twice\n"},
      {"x @ 5 @ 6", "1:7: '@' may not be set twice\n"},
      {"x @ y", "1:5: unexpected 'y'; expected a timestamp in seconds, start() or end()\n"},
      {"x @ Inf", "1:5: the timestamp of '@' is out of bounds\n"},
      {"x offset 1e300", "1:10: the duration is out of range; at most 290y\n"},
      {"x +", "1:4: unexpected the end; expected an expression\n"},
      {"(x", "1:3: unexpected the end; expected an operator or ')'\n"},
      {"x)", "1:2: unexpected ')'; expected an operator or the end\n"},
      {"x y", "1:3: unexpected 'y'; expected an operator or the end\n"},
      {"sum(x,)", "1:7: unexpected ')'; expected an argument: no comma may trail\n"},
      {"sum by a (x)", "1:8: unexpected 'a'; expected '(' and a list of labels\n"},
      {"'abc", "1:1: the string is not closed; it needs another '\n"},
      {"'a\\qb'",
       "1:1: the string 'a\\qb' has an escape that Go does not know; write a backslash as \\\\, or use "
       "`...`\n"},
      {"x & y", "1:3: unexpected character '&'\n"},
      {"x == \x01", "1:6: unexpected character '\\x01'\n"},
      {"1e999",
       "1:1: '1e999' is neither a number nor a duration; numbers are like 5, 0.5, 1e6, 0xff, Inf; durations "
       "like 5m, 1h30m\n"},
      {"on", "1:1: unexpected 'on'; expected an expression\n"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(said(row.text) == row.expected);
  }
}

TEST_CASE("what Prometheus has and rdmend has not is named") {
  struct Row {
    const char *text, *expected;
  };
  const Row rows[] = {
      {"histogram_quantile(0.9, x)", "1:1: function 'histogram_quantile' is not supported by rdmend\n"},
      {"1 + holt_winters(x[5m], 0.5, 0.5)", "1:5: function 'holt_winters' is not supported by rdmend\n"},
      {"x atan2 y", "1:3: operator 'atan2' is not supported by rdmend\n"},
      {"limitk(2, x)", "1:1: aggregation 'limitk' is not supported by rdmend\n"},
      {"limit_ratio by (a) (2, x)", "1:1: aggregation 'limit_ratio' is not supported by rdmend\n"},
      {"rate(x[5m] smoothed)", "1:12: modifier 'smoothed' is not supported by rdmend\n"},
      {"{\"x\"}", "1:2: a quoted label or metric name is not supported by rdmend\n"},
      {"sum by (\"x\") (y)", "1:9: a quoted label name is not supported by rdmend\n"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(said(row.text) == row.expected);
  }
}

TEST_CASE("all faults of an expression are told at once") {
  CHECK(said("rat(x[5m]) + abs(y[5m]) > bool\n clamp(z, \"a\", 2)") ==
        "1:1: unknown function 'rat'; did you mean 'rate'?\n"
        "1:18: argument 1 of 'abs' must be an instant vector, not a range vector; leave the range out, or "
        "take a function of it, as in "
        "last_over_time(x[5m])\n"
        "2:11: argument 2 of 'clamp' must be a scalar, not a string\n");
}

TEST_CASE("hostile expressions end quickly and do not overflow the stack") {
  const auto times = [](std::string_view part, std::size_t count) {
    std::string out;
    while (count-- > 0) out += part;
    return out;
  };
  const std::string deep = "the expression is nested too deeply";
  CHECK(said(times("(", 30'000)).find(deep) != std::string::npos);
  CHECK(said(times("-", 30'000) + "1").find(deep) != std::string::npos);
  CHECK(said(times("abs(", 8000)).find(deep) != std::string::npos);
  CHECK(said("1" + times("+1", 15'000)).find(deep) != std::string::npos);
  CHECK(said("x" + times("^x", 15'000)).find(deep) != std::string::npos);
  CHECK(said("x" + times("[5m:]", 6000)).find("subquery") != std::string::npos);
  CHECK(said(times("sum(x)[5m:] or ", 2000)).size() < 10'000);
  CHECK(said(times("x", 33'000)) == "1:1: the expression has 33000 bytes; at most 32768 are allowed\n");
  CHECK(said(times("rat(", 100) + times(")", 100)).size() < 4000);
  CHECK(said(std::string(30'000, '{')).size() < 200);
  CHECK(said("label_join(" + times("x,", 16'000) + "x)").size() < 4000);
}

TEST_CASE("random tokens never do worse than a fault") {
  static const char* const kParts[] = {"x",          "sum",
                                       "by",         "(",
                                       ")",          "[",
                                       "]",          "{",
                                       "}",          "5m",
                                       ":",          "1",
                                       "+",          "-",
                                       "^",          ",",
                                       "'s'",        "offset",
                                       "@",          "start",
                                       "rate",       "on",
                                       "group_left", "bool",
                                       ">",          "and",
                                       "=",          "=~",
                                       "a",          "#",
                                       "\n",         "topk",
                                       "\"",         "label_replace",
                                       "0x",         "1e"};
  std::mt19937 random(GENERATE(1U, 2U, 3U, 4U));
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto n = random() % 20; n > 0; --n)
      text += std::string(kParts[random() % std::size(kParts)]) + (random() % 3 == 0 ? " " : "");
    const auto parsed = parse(text);
    if (const auto* list = std::get_if<std::vector<ParseError>>(&parsed)) {
      INFO(text);
      REQUIRE_FALSE(list->empty());
      for (const auto& fault : *list) REQUIRE(fault.at.line >= 1);
    } else {
      const auto again = std::get<Expression>(parsed).text();
      INFO(text << " -> " << again);
      REQUIRE(said(again) == "fine: " + again);
    }
  }
}
