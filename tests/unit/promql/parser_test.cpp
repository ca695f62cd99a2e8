// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "promql_fixture.hpp"

using namespace rdmend;
using namespace rdmend::promql;
using namespace std::chrono_literals;

namespace {

std::string canonical(std::string_view text) {
  const auto parsed = parse(text);
  if (const auto* list = std::get_if<std::vector<ParseError>>(&parsed)) return faults(*list);
  return std::get<Expression>(parsed).text();
}

struct Row {
  const char* text;
  const char* expected;
};

}  // namespace

TEST_CASE("an expression prints in one form, which reads back to itself") {
  const Row rows[] = {
      {"up", "up"},
      {" up { job = 'a' , x!~`b.*`, } ", "up{job=\"a\",x!~\"b.*\"}"},
      {"{__name__=\"up\"}", "{__name__=\"up\"}"},
      {"up[5m] offset -90s", "up[5m] offset -1m30s"},
      {"up offset 1h @ 12.5", "up @ 12.500 offset 1h"},
      {"up[1h:] @ end()", "up[1h:] @ end()"},
      {"(up+1)[300:30]", "(up + 1)[5m:30s]"},
      {"1+2*3^4^5", "1 + 2 * 3 ^ 4 ^ 5"},
      {"-2^2", "-2 ^ 2"},
      {"SUM(up) BY (b,a,b)", "sum by (a, b) (up)"},
      {"count without() (up)", "count without () (up)"},
      {"topk(3,up)", "topk(3, up)"},
      {"a and on() b or c unless ignoring(x,a) d", "a and on () b or c unless ignoring (a, x) d"},
      {"a * on(x) group_left(y) b", "a * on (x) group_left (y) b"},
      {"a >bool 0x1F", "a > bool 31"},
      {"017 + 08 + 1e3 + .5 + inf + NaN + 1h30m", "15 + 8 + 1000 + 0.5 + Inf + NaN + 5400"},
      {"rate(x[1m])  # the rest is comment", "rate(x[1m])"},
      {"label_join(x, 'a', \"\\n\\\"\\x41\\101\\u00e9\", `b\\`)",
       "label_join(x, \"a\", \"\\n\\\"AA\xc3\xa9\", \"b\\\\\")"},
      {"sum + by + offset", "sum + by + offset"},
      {"instance:up:sum", "instance:up:sum"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(canonical(row.text) == row.expected);
    CHECK(canonical(canonical(row.text)) == row.expected);
  }
}
