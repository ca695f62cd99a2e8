// SPDX-License-Identifier: Apache-2.0
#include "remedies/breaker.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;
using namespace rdmend::remedies;

namespace {

const Instant kClosed{std::chrono::hours{1}};
const Breaker::Limits kLimits{0.5, 4, seconds{60}};

std::vector<std::string> keys(int from, int to) {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(std::to_string(i));
  return out;
}

}  // namespace

TEST_CASE("G9: too much is a share of the host, but never fewer than a few") {
  Breaker breaker;
  CHECK(breaker.too_much(keys(0, 3), 3, kLimits, kClosed).empty());    // all of the host, but only three
  CHECK(breaker.too_much(keys(0, 4), 8, kLimits, kClosed).empty());    // half is not more than half
  CHECK(breaker.too_much(keys(0, 5), 8, kLimits, kClosed) == "5 of the host's 8 RC QPs would be acted on within 1m, more than 50 %");
  CHECK_FALSE(breaker.too_much(keys(0, 4), 0, kLimits, kClosed).empty());
  CHECK_FALSE(breaker.is_open());  // to open it is the executor's decision
}

TEST_CASE("what was acted on within the window counts, each target once") {
  Breaker breaker;
  breaker.acted(keys(0, 3), kClosed);
  CHECK(breaker.too_much(keys(0, 4), 8, kLimits, kClosed).empty());
  CHECK_FALSE(breaker.too_much(keys(3, 5), 8, kLimits, kClosed + seconds{60}).empty());
  CHECK(breaker.too_much(keys(3, 5), 8, kLimits, kClosed + seconds{61}).empty());
}

TEST_CASE("what was acted on is read back with its age; what is no such list is none") {
  const Timestamp wall{std::chrono::hours{500'000}};
  Breaker before;
  before.acted(keys(0, 3), kClosed - seconds{10});
  Breaker breaker;
  breaker.restore(before.save({kClosed, wall}), {kClosed, wall + seconds{20}});
  CHECK_FALSE(breaker.too_much(keys(3, 5), 8, kLimits, kClosed + seconds{30}).empty());
  CHECK(breaker.too_much(keys(3, 5), 8, kLimits, kClosed + seconds{31}).empty());
  for (const char* text : {"", "[]", "7", R"({"a":"x","b":1.5,"c":null})", R"({"a":-9223372036854775808,"b":9223372036854775807})"}) {
    Breaker other;
    other.restore(text, {kClosed, wall});
    CHECK_FALSE(other.is_open());
    CHECK(other.too_much(keys(0, 2), 8, kLimits, kClosed).empty());
  }
}

TEST_CASE("G8: it stays open until it is reset") {
  Breaker breaker;
  breaker.open("why");
  CHECK(breaker.is_open());
  CHECK(breaker.why() == "why");
  breaker.reset();
  CHECK_FALSE(breaker.is_open());
}
