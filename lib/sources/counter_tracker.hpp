// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sources/counter_dir.hpp"
#include "sources/drivers.hpp"

namespace rdmend::sources {

// One raw counter, unwrapped.
struct Counter {
  Width width;
  bool gauge = false;
  bool present = false;        // the last reading of its set gave it a value
  bool failed = false;         // the last reading of its set could not read it
  bool existed = false;        // before that reading
  [[nodiscard]] bool exists() const { return present || failed; }
  std::uint64_t raw = 0;
  std::uint64_t total = 0;     // 64 bit, whatever the hardware's width; falls at a reset only
  std::uint64_t lost = 0;      // what resets took from it: total + lost never falls (for sums, which one member's reset must not bring down)
  [[nodiscard]] bool saturated() const { return width.saturates && raw == width.largest(); }
};

// Where a set of counters comes from: hw counters have one history, whether netlink or sysfs brought them.
enum class CounterSet { hardware, pma, ethtool, netdev, dcb };
inline constexpr std::size_t kCounterSets = 5;

// The counters of one port, or of one device.
class CounterTracker {
 public:
  void set_driver(Driver driver) { driver_ = driver; }
  // Takes in a reading of `set`; returns the names of the counters that were reset since the last.
  std::vector<std::string> ingest(CounterSet set, const CounterReading& reading);
  // Another device had these names before: what each set brings first counts as 0, or it would look like growth.
  void begin_at_zero();
  // Counters of the last reading beyond kMost.
  [[nodiscard]] std::size_t overflow(CounterSet set) const { return overflow_[static_cast<std::size_t>(set)]; }
  [[nodiscard]] const Counter* find(CounterSet set, const std::string& name) const;
  [[nodiscard]] const std::map<std::string, Counter>& of(CounterSet set) const { return sets_[static_cast<std::size_t>(set)]; }

  // Changes whenever a counter begins or ceases to exist.
  [[nodiscard]] std::uint64_t shape() const { return shape_; }

  static constexpr std::size_t kMost = 8192;  // counters of one set

 private:
  void take_value(CounterSet set, const std::string& name, std::uint64_t value, std::vector<std::string>& resets);

  Driver driver_ = Driver::unknown;
  std::uint64_t shape_ = 0;
  std::map<std::string, Counter> sets_[kCounterSets];
  std::size_t overflow_[kCounterSets] = {};
  bool from_zero_[kCounterSets] = {};
};

// The step from `before` to `now` of a counter of that width: a wrap only if the counter wraps, stood above 2^31 and has
// moved on by less than 2^31; a fall that is none is a reset.
struct Step {
  bool reset = false;
  std::uint64_t grown = 0;  // not after a reset
};
Step counter_step(const Width& width, std::uint64_t before, std::uint64_t now);

}  // namespace rdmend::sources
