// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "store_fixture.hpp"

using namespace rdmend;
using namespace rdmend::store;
using Op = Matcher::Op;

TEST_CASE("regular expressions are anchored, and '.' matches a newline as in Prometheus 3") {
  CHECK(match(Op::regex, "a", "b|bc").matches("bc"));
  CHECK_FALSE(match(Op::regex, "a", "b").matches("abc"));
  CHECK(match(Op::regex, "a", "x.y").matches("x\ny"));
  CHECK(match(Op::regex, "a", ".*").matches(""));
  CHECK(match(Op::regex, "a", ".*").matches("\n"));
  CHECK_FALSE(match(Op::regex, "a", ".+").matches(""));
  CHECK(match(Op::not_regex, "a", "b.*").matches("ab"));
  CHECK(match(Op::regex, "a", "").matches(""));
  CHECK(match(Op::regex, "a", "mlx5_\\d+").matches("mlx5_12"));
  CHECK(match(Op::regex, "a", "(?i)ABC").matches("abc"));
}

TEST_CASE("a broken expression is an error that shows it") {
  const auto broken = Matcher::make(Op::regex, "a", "(x");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message == "'(x' is not a regular expression: missing ): (x");
  CHECK_FALSE(Matcher::make(Op::regex, "a", "((a{1000}){1000}){1000}"));
}

TEST_CASE("an absent label is the empty value") {
  Store store({});
  store.append({{"__name__", "m"}, {"a", "1"}}, at(1), 1);
  store.append({{"__name__", "m"}}, at(1), 2);
  CHECK(dump(store, {named("m"), match(Op::equal, "a", "")}) == "m: 1=2\n");
  CHECK(dump(store, {named("m"), match(Op::not_equal, "a", "")}) == "m{a=\"1\"}: 1=1\n");
  CHECK(dump(store, {named("m"), match(Op::regex, "a", "1?")}) == "m: 1=2\nm{a=\"1\"}: 1=1\n");
  CHECK(dump(store, {named("m"), match(Op::not_regex, "a", ".+")}) == "m: 1=2\n");
  CHECK(dump(store, {match(Op::equal, "a", "1")}) == "m{a=\"1\"}: 1=1\n");
  CHECK(dump(store, {match(Op::equal, "a", "2")}).empty());
}

TEST_CASE("hostile expressions and values take linear time") {
  const auto evil = match(Op::regex, "a", "(a*)*b");
  CHECK_FALSE(evil.matches(std::string(15'000, 'a')));
}
