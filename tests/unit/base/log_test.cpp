// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;
using namespace std::chrono_literals;

TEST_CASE("a repeated fault is said once a period, with the count of what was held back") {
  log::Limiter limiter(60s);
  Instant now{};
  CHECK(limiter.admit("a", now) == 0);
  CHECK(limiter.admit("a", now + 1s) == -1);
  CHECK(limiter.admit("a", now + 2s) == -1);
  CHECK(limiter.admit("b", now + 2s) == 0);
  CHECK(limiter.admit("a", now + 61s) == 2);
}

TEST_CASE("ten thousand different keys do not grow the limiter without bound") {
  log::Limiter limiter;
  int let_through = 0;
  for (int i = 0; i < 10'000; ++i) let_through += limiter.admit("key " + std::to_string(i), Instant{}) >= 0 ? 1 : 0;
  CHECK(let_through <= 256);
}
