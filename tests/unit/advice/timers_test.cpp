// SPDX-License-Identifier: Apache-2.0
#include "advice/timers.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace rdmend::advice;
using namespace std::chrono_literals;

TEST_CASE("RNR timer codes are ordered by duration, not by number") {
  CHECK(rnr_timer(0) == 655'360us);
  CHECK(rnr_timer(1) == 10us);
  CHECK(rnr_timer(12) == 640us);
  CHECK(rnr_timer(25) == 61'440us);
  CHECK(rnr_timer(31) == 491'520us);
  CHECK(rnr_timer(32) == rnr_timer(0));  // five bits
  const auto codes = rnr_codes_by_duration();
  REQUIRE(codes.size() == 32);
  CHECK(codes.front() == 1);
  CHECK(codes.back() == 0);
  CHECK(std::set<int>(codes.begin(), codes.end()).size() == 32);
  for (std::size_t i = 1; i < codes.size(); ++i) CHECK(rnr_timer(codes[i - 1]) < rnr_timer(codes[i]));
}

TEST_CASE("a duration is rounded up to a code, a ceiling down to one") {
  CHECK(rnr_code_at_least(1us) == 1);
  CHECK(rnr_code_at_least(10us) == 1);
  CHECK(rnr_code_at_least(11us) == 2);
  CHECK(rnr_code_at_least(40us) == 4);
  CHECK(rnr_code_at_least(10ms) == 20);
  CHECK(rnr_code_at_least(491'521us) == 0);
  CHECK(rnr_code_at_least(655'360us) == 0);
  CHECK_FALSE(rnr_code_at_least(655'361us));
  CHECK_FALSE(rnr_code_at_most(9us));
  CHECK(rnr_code_at_most(10us) == 1);
  CHECK(rnr_code_at_most(10ms) == 19);
  CHECK(rnr_code_at_most(655'359us) == 31);
  CHECK(rnr_code_at_most(655'360us) == 0);
  CHECK(rnr_code_text(0) == "code 0 (655.36 ms)");
  CHECK(rnr_code_text(1) == "code 1 (0.01 ms)");
  CHECK(rnr_code_text(12) == "code 12 (0.64 ms)");
}

TEST_CASE("ACK timeouts are 4.096 us times a power of two, and code 0 is none") {
  CHECK_FALSE(ack_timeout(0));
  CHECK(ack_timeout(1) == 8'192ns);
  CHECK(ack_timeout(14) == 67'108'864ns);
  CHECK(ack_timeout(31) == 8'796'093'022'208ns);
  CHECK(ack_timeout_code_at_least(1ns) == 1);
  CHECK(ack_timeout_code_at_least(8'192ns) == 1);
  CHECK(ack_timeout_code_at_least(8'193ns) == 2);
  CHECK(ack_timeout_code_at_least(375ms) == 17);
  CHECK(ack_timeout_code_at_least(8'796'093'022'208ns) == 31);
  CHECK_FALSE(ack_timeout_code_at_least(8'796'093'022'209ns));
  CHECK(ack_timeout_text(0) == "code 0 (infinite)");
  CHECK(ack_timeout_text(2) == "code 2 (16.4 us)");
  CHECK(ack_timeout_text(14) == "code 14 (67.1 ms)");
  CHECK(ack_timeout_text(28) == "code 28 (1100 s)");
}

// The kernel's own arithmetic on codes (drivers/infiniband/core/cm.c, cm_ack_timeout), as the judge.
static int kernel_code(int packet_life_time, int ack_delay) {
  int timeout = packet_life_time + 1;
  if (timeout >= ack_delay)
    timeout += (ack_delay >= timeout - 1);
  else
    timeout = ack_delay + (timeout >= ack_delay - 1);
  return timeout > 31 ? 31 : timeout;
}

TEST_CASE("2 x PacketLifeTime + ack delay never comes out shorter than the sum, nor a code above the kernel's") {
  for (int life = 0; life <= 31; ++life)
    for (int delay = 0; delay <= 31; ++delay) {
      const int ours = ack_timeout_code_for(static_cast<std::uint8_t>(life), static_cast<std::uint8_t>(delay), 0);
      const double sum = 2 * std::ldexp(4096.0, life) + std::ldexp(4096.0, delay);
      CAPTURE(life, delay, ours);
      if (ours < 31) CHECK(static_cast<double>(ack_timeout(static_cast<std::uint8_t>(ours))->count()) >= sum);
      CHECK(ours >= kernel_code(life, delay));  // the kernel neglects a delay far below the sum's own precision
      CHECK(ours <= std::min(31, kernel_code(life, delay) + 1));
    }
  CHECK(ack_timeout_code_for(16, 16, 0) == 18);  // RoCE and rdma_cm on Linux 6.12: 1.07 s
  CHECK(ack_timeout_code_for(18, 16, 20) == 20);
  CHECK(ack_timeout_code_for(63, 31, 20) == 31);
}

TEST_CASE("what a requester endures: every try between one and four timeouts") {
  const auto budget = retry_budget(14, 7);
  REQUIRE(budget);
  CHECK(budget->least == 8 * 67'108'864ns);
  CHECK(budget->most == 32 * 67'108'864ns);
  CHECK_FALSE(retry_budget(0, 7));
  CHECK(retry_budget(14, 200)->least == budget->least);  // three bits
}

TEST_CASE("durations as fine as a timer") {
  CHECK(parse_fine_duration("640us") == 640us);
  CHECK(parse_fine_duration("0.64ms") == 640us);
  CHECK(parse_fine_duration("10ms") == 10ms);
  CHECK(parse_fine_duration("1.28ms") == 1280us);
  CHECK(parse_fine_duration("0.01s") == 10ms);
  CHECK(parse_fine_duration("1s500ms") == 1500ms);
  CHECK(parse_fine_duration("2m") == 2min);
  for (const char* wrong : {"", "0", "0us", "0.1us", "-1ms", "10", "ms", "10 ms", "1e3us", "inf ms", "nanus", "10msx", "2d", "1.5m", "99999999999999999999us"})
    CHECK_FALSE(parse_fine_duration(wrong));
  CHECK(short_time(10us) == "10 us");
  CHECK(short_time(640us) == "0.64 ms");
  CHECK(short_time(8'590ms) == "8.59 s");
  CHECK(short_time(10ms) == "10 ms");
}
