// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "differential/rng.hpp"
#include "model/labels.hpp"
#include "store/store.hpp"

namespace rdmend::differential {

// Edges of ranges and look-back are left-open in Prometheus 3 and closed in 2, so no sample may stand on one. Samples are at
// odd multiples of 125 ms, which also are seconds that a double holds exactly; queries, ranges, offsets and steps are
// multiples of 250 ms.
inline constexpr Timestamp kDataBegin{seconds{1'700'000'000}};
inline constexpr Timestamp kQueryBegin = kDataBegin + std::chrono::minutes{130};
inline constexpr Timestamp kQueryEnd = kDataBegin + std::chrono::minutes{190};
inline constexpr Timestamp kDataEnd = kDataBegin + std::chrono::minutes{200};

// What the generator may do with a metric.
struct Metric {
  enum class Kind { counter, ragged_counter, gauge, state, odd, sparse, wide, info };
  std::string name;
  Kind kind;
  std::vector<std::string> labels;

  // rate() may read it. How far a rate is extrapolated to a series' first sample differs between 2 and 3 where a counter
  // that begins inside the range starts a little above zero; ours begin before every range, at 0, or far above.
  [[nodiscard]] bool rates() const { return kind == Kind::counter || kind == Kind::ragged_counter; }
  [[nodiscard]] bool steady() const { return kind == Kind::counter; }
  // Its values are small multiples of a power of two: sums of them have no rounding.
  [[nodiscard]] bool exact() const { return kind != Kind::wide; }
  [[nodiscard]] bool finite() const { return kind != Kind::odd; }
  // No two of its series ever have the same value.
  [[nodiscard]] bool distinct() const { return kind == Kind::gauge; }
};
std::span<const Metric> metrics();
// The values that a label takes.
const std::vector<std::string>& label_values(std::string_view label);

struct Series {
  Labels labels;
  std::vector<store::Point> points;
};
std::vector<Series> make_series(Rng& rng);

}  // namespace rdmend::differential
