// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmend::advice {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

inline constexpr std::uint8_t kMostTimerCode = 31;  // both timers are 5-bit codes
inline constexpr std::uint8_t kMostRetries = 7;     // retry_cnt and rnr_retry are 3-bit fields

// --- min_rnr_timer (kernel: enum ib_rnr_timeout, include/rdma/ib_verbs.h) ---
// How long the peer waits after an RNR NAK. Not in the order of the codes: code 0 is the longest, 655.36 ms.
microseconds rnr_timer(std::uint8_t code);  // only the low 5 bits count, as in hardware
// The 32 codes, shortest first: 1, 2, ... 31, 0.
std::span<const std::uint8_t> rnr_codes_by_duration();
// The shortest code that waits at least that long; nullopt beyond 655.36 ms.
std::optional<std::uint8_t> rnr_code_at_least(microseconds duration);
// The longest code that waits at most that long; nullopt below 10 us.
std::optional<std::uint8_t> rnr_code_at_most(microseconds duration);
// "code 12 (0.64 ms)".
std::string rnr_code_text(std::uint8_t code);

// --- Local ACK timeout: 4.096 us x 2^code; code 0 is no timer at all ---
std::optional<nanoseconds> ack_timeout(std::uint8_t code);  // nullopt for code 0: infinite
// The shortest code that lasts at least that long, 1..31; nullopt beyond code 31 (8796 s).
std::optional<std::uint8_t> ack_timeout_code_at_least(nanoseconds duration);
// The code for 2 x PacketLifeTime + the remote device's ack delay, both codes of the same scale, with a margin in per
// cent: summed in time, rounded up to a code (what the kernel's cm_ack_timeout does on codes). At most 31.
std::uint8_t ack_timeout_code_for(std::uint8_t packet_life_time, std::uint8_t ack_delay, unsigned margin_percent);
// How long a requester tries before it gives up: every try between one and four times the timeout (the responder may be
// timed that leniently), retry_cnt + 1 tries. nullopt for code 0.
struct Budget {
  nanoseconds least{}, most{};
};
std::optional<Budget> retry_budget(std::uint8_t timeout_code, std::uint8_t retry_cnt);
// "code 14 (67.1 ms)", "code 0 (infinite)".
std::string ack_timeout_text(std::uint8_t code);

// --- texts ---
// "0.64 ms", "8.59 s", "10 us": three digits that count, the unit that suits.
std::string short_time(nanoseconds duration);
// A duration as fine as timers need: "640us", "0.64ms", "1.28ms", "2s" (a decimal number and us, ms or s), or a
// Prometheus duration ("1s500ms"). nullopt for anything else, for less than a microsecond, or beyond a day.
std::optional<microseconds> parse_fine_duration(std::string_view text);

}  // namespace rdmend::advice
