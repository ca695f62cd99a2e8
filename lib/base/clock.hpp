// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace rdmend {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Wall-clock time of samples and alerts, in milliseconds since the epoch, as Prometheus has it.
using Timestamp = std::chrono::sys_time<milliseconds>;
// Monotonic time of deadlines and budgets.
using Instant = std::chrono::steady_clock::time_point;

// Both clocks, read once a wake-up by the loop and handed down; nothing below daemon/ reads a clock.
struct Now {
  Instant mono{};
  Timestamp wall{};
};

}  // namespace rdmend
