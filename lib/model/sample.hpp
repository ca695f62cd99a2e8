// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/labels.hpp"

namespace rdmend {

// One value of one series; the metric's name is in the labels. Counters end in _total and never fall but at a reset.
struct Sample {
  Labels labels;
  double value = 0;
};

// What one reading of one scope gave. A series that the scope had in its previous batch and lacks in this one goes stale at
// `at`. A scope is what is read together: "hw_counters/mlx5_0/1", "qps/rxe1", "events".
struct Batch {
  std::string scope;
  Timestamp at{};
  std::vector<Sample> samples;
  // The batch ends the scope (its device has gone): every series of it goes stale.
  bool last = false;
  // An event, not a poll: rules that read one of these series run at once.
  bool urgent = false;
};

// Prometheus' staleness marker: one particular NaN (prometheus model/value StaleNaN), told from others by its bits.
inline constexpr std::uint64_t kStaleBits = 0x7ff0000000000002ULL;
inline double stale_marker() { return std::bit_cast<double>(kStaleBits); }
inline bool is_stale(double value) { return std::bit_cast<std::uint64_t>(value) == kStaleBits; }

}  // namespace rdmend
