// SPDX-License-Identifier: Apache-2.0
#include "agent/psn.hpp"

#include <catch2/catch.hpp>

using namespace rdmend::agent;

TEST_CASE("half the ring is ahead and half behind") {
  CHECK(psn_distance(5, 5) == 0);
  CHECK(psn_distance(5, 6) == 1);
  CHECK(psn_distance(6, 5) == -1);
  CHECK(psn_distance(0xffffff, 0) == 1);
  CHECK(psn_distance(0, 0xffffff) == -1);
  CHECK(psn_distance(10, 10 + 0x7fffff) == 0x7fffff);
  CHECK(psn_distance(10, 10 + 0x800000) == -0x800000);
  CHECK(psn_distance(0xfffff0, 0x10) == 0x20);
}

TEST_CASE("a PSN of the wire is unwrapped from the oldest on") {
  constexpr std::uint64_t kTurns = std::uint64_t{7} << 24;
  CHECK(psn_after(kTurns + 100, 100) == kTurns + 100);
  CHECK(psn_after(kTurns + 100, 300) == kTurns + 300);
  CHECK(psn_after(kTurns + 0xfffffe, 3) == kTurns + 0x1000003);
  CHECK(psn_after(kTurns + 100, 99) == kTurns + 0x1000063);  // what is before it is a turn later
  CHECK(wire_psn(kTurns + 0xffffff) == 0xffffff);
  CHECK(wire_psn(kTurns + 0x1000000) == 0);
}

TEST_CASE("the PSNs of a message") {
  CHECK(psns_of(0, 1024) == 1);
  CHECK(psns_of(1, 1024) == 1);
  CHECK(psns_of(1024, 1024) == 1);
  CHECK(psns_of(1025, 1024) == 2);
  CHECK(psns_of(4096, 256) == 16);
  CHECK(psns_of(std::uint64_t{1} << 31, 256) == 1 << 23);
  CHECK(psns_of(0xffffffff, 4096) == 1 << 20);
}

TEST_CASE("the next life begins a little ahead of all that was sent") {
  for (const std::uint32_t random : {0U, 1U, 4095U, 4096U, 0xffffffffU}) {
    const auto psn = next_life_psn(1'000'000, random);
    CHECK(psn >= 1'000'000 + kPsnGap);
    CHECK(psn < 1'000'000 + 2 * kPsnGap);
    // Every packet of the old life is behind, a duplicate.
    CHECK(psn_distance(wire_psn(psn), wire_psn(1'000'000 - 1)) < 0);
  }
  CHECK(next_life_psn(7, 1) != next_life_psn(7, 2));
}
