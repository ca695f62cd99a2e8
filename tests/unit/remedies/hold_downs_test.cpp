// SPDX-License-Identifier: Apache-2.0
#include "remedies/hold_downs.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;
using namespace rdmend::remedies;

namespace {
const Timestamp kWall{std::chrono::hours{500'000}};
constexpr milliseconds kFirst = seconds{60};
constexpr milliseconds kMost = seconds{200};
}  // namespace

TEST_CASE("a target is held down for longer each time, up to a bound, and anew after a long rest") {
  HoldDowns downs;
  CHECK(downs.left("R", "t", kWall).count() == 0);
  auto now = kWall;
  for (const auto length : {60, 120, 200, 200}) {
    downs.acted("R", "t", now, kFirst, kMost);
    CHECK(downs.left("R", "t", now) == seconds{length});
    CHECK(downs.left("R", "t", now + seconds{length} - milliseconds{1}) == milliseconds{1});
    CHECK(downs.left("R", "other", now).count() == 0);
    CHECK(downs.left("Other", "t", now).count() == 0);
    now += seconds{length};
    CHECK(downs.left("R", "t", now).count() == 0);
  }
  downs.acted("R", "t", now + kMost, kFirst, kMost);
  CHECK(downs.left("R", "t", now + kMost) == kFirst);
}

TEST_CASE("they are read back, and a clock that was set back does not prolong them") {
  HoldDowns downs;
  downs.acted("R", "qp rxe2 17", kWall, kFirst, kMost);
  downs.acted("R", "qp rxe2 17", kWall, kFirst, kMost);
  HoldDowns later;
  later.restore(downs.save(), kWall + seconds{30}, kMost);
  CHECK(later.left("R", "qp rxe2 17", kWall + seconds{30}) == seconds{90});
  CHECK(downs.left("R", "qp rxe2 17", kWall - std::chrono::hours{10}) == seconds{120});
  HoldDowns set_back;
  set_back.restore(downs.save(), kWall - std::chrono::hours{10}, kMost);
  CHECK(set_back.left("R", "qp rxe2 17", kWall - std::chrono::hours{10} + seconds{120}).count() == 0);
}

TEST_CASE("what is no list of hold-downs is none") {
  for (const char* text : {"", "x", "{}", "[1]", "[[]]", R"([["R","t","x",1]])", R"([["R","t",1.5,1]])", R"([["R"]])", R"([["R","t",9223372036854775807,9223372036854775807]])"}) {
    HoldDowns downs;
    downs.restore(text, kWall, kMost);
    CHECK(downs.left("R", "t", kWall) <= kMost);
  }
}

TEST_CASE("they are bounded") {
  HoldDowns downs;
  for (int i = 0; i < 17'000; ++i) downs.acted("R", std::to_string(i), kWall + milliseconds{i}, kFirst, std::chrono::hours{1});
  CHECK(downs.left("R", "0", kWall + seconds{20}).count() == 0);  // the one that ends first made room
  CHECK(downs.left("R", "16999", kWall + seconds{20}).count() > 0);
}
