// SPDX-License-Identifier: Apache-2.0
#include "remedies/budget.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;
using namespace rdmend::remedies;

namespace {

const Instant kNow{std::chrono::hours{1}};
Action::Target target(const std::string& key, const std::string& process = {}) { return {key, process, key, {}, true}; }

}  // namespace

TEST_CASE("G8: a bucket gives its burst at once, then one more each refill") {
  Budget budget({{2, seconds{10}}, {100, seconds{1}}, {100, seconds{1}}});
  CHECK(budget.take(target("a"), kNow).empty());
  CHECK(budget.take(target("a"), kNow).empty());
  CHECK(budget.take(target("a"), kNow) == "the budget of a is spent (2 at once, one more each 10s)");
  CHECK(budget.take(target("b"), kNow).empty());
  CHECK_FALSE(budget.take(target("a"), kNow + milliseconds{9'999}).empty());
  CHECK(budget.take(target("a"), kNow + seconds{10}).empty());
  CHECK_FALSE(budget.take(target("a"), kNow + seconds{10}).empty());
  CHECK(budget.take(target("a"), kNow + std::chrono::hours{5}).empty());  // never more than the burst
  CHECK(budget.take(target("a"), kNow + std::chrono::hours{5}).empty());
  CHECK_FALSE(budget.take(target("a"), kNow + std::chrono::hours{5}).empty());
}

TEST_CASE("a target that gets no token costs nobody else one") {
  Budget budget({{9, seconds{10}}, {1, seconds{10}}, {3, seconds{10}}});
  CHECK(budget.take(target("a", "p"), kNow).empty());
  for (int i = 0; i < 5; ++i) CHECK(budget.take(target("b", "p"), kNow) == "the budget of p is spent (1 at once, one more each 10s)");
  CHECK(budget.take(target("c", "q"), kNow).empty());
  CHECK(budget.take(target("d"), kNow).empty());
  CHECK(budget.take(target("e"), kNow) == "the budget of the host is spent (3 at once, one more each 10s)");
}

TEST_CASE("limits change while it is used, and none means none") {
  Budget budget({{0, seconds{1}}, {1, seconds{1}}, {1, seconds{1}}});
  CHECK_FALSE(budget.take(target("a"), kNow + std::chrono::hours{100}).empty());
  budget.set_limits({{1, milliseconds{0}}, {1, milliseconds{0}}, {1, milliseconds{0}}});
  for (int i = 0; i < 10; ++i) CHECK(budget.take(target("a"), kNow).empty());  // refilled at once
}

TEST_CASE("a copy spends nothing of the original") {
  Budget budget({{1, seconds{10}}, {1, seconds{10}}, {1, seconds{10}}});
  auto copy = budget;
  CHECK(copy.take(target("a"), kNow).empty());
  CHECK(budget.take(target("a"), kNow).empty());
}

TEST_CASE("what is spent is read back, less what came back meanwhile; a clock that was set back brings nothing") {
  const Budget::Limits limits{{2, seconds{10}}, {4, seconds{10}}, {5, seconds{10}}};
  const Timestamp wall{std::chrono::hours{500'000}};
  Budget before(limits);
  for (int i = 0; i < 2; ++i) REQUIRE(before.take(target("a", "p"), kNow).empty());
  for (int i = 0; i < 2; ++i) REQUIRE(before.take(target("b", "p"), kNow).empty());
  const auto text = before.save({kNow, wall});
  const auto after = [&](seconds away) {
    Budget budget(limits);
    budget.restore(text, {Instant{seconds{7}}, wall + away});  // the host was started anew: another monotonic clock
    return budget;
  };
  const Instant now{seconds{7}};
  auto at_once = after(seconds{0});
  CHECK_FALSE(at_once.take(target("a"), now).empty());
  CHECK_FALSE(at_once.take(target("c", "p"), now).empty());
  CHECK(at_once.take(target("c"), now).empty());
  CHECK(at_once.take(target("d"), now) == "the budget of the host is spent (5 at once, one more each 10s)");
  auto later = after(seconds{10});
  CHECK(later.take(target("a", "p"), now).empty());
  CHECK_FALSE(later.take(target("a"), now).empty());
  auto set_back = after(std::chrono::hours{-10});
  CHECK_FALSE(set_back.take(target("a"), now).empty());
  CHECK(set_back.take(target("a"), now + seconds{10}).empty());
  auto long_after = after(std::chrono::hours{100'000});
  CHECK(long_after.take(target("a"), now).empty());
}

TEST_CASE("what is no budget is none") {
  for (const char* text : {"", "[]", "{}", R"({"at":"x"})", R"({"at":-9223372036854775808,"host":{"host":1e300}})", R"({"at":9223372036854775807,"targets":[1]})",
                           R"({"at":500000,"targets":{"a":-7,"b":"x","c":null},"processes":7,"host":{"host":-1}})"}) {
    Budget budget({{2, seconds{10}}, {2, seconds{10}}, {2, seconds{10}}});
    budget.restore(text, {kNow, Timestamp{std::chrono::hours{500'000}}});
    CHECK(budget.take(target("a"), kNow + seconds{20}).empty());
  }
}

TEST_CASE("keys are bounded: full buckets are forgotten, and beyond that new targets wait") {
  Budget budget({{1, seconds{10}}, {1, seconds{10}}, {1'000'000, seconds{10}}});
  for (int i = 0; i < 65'536; ++i) REQUIRE(budget.take(target(std::to_string(i)), kNow).empty());
  CHECK(budget.take(target("one more"), kNow) == "too many targets were acted on lately to keep count of another");
  CHECK(budget.take(target("one more"), kNow + seconds{11}).empty());
}
