// SPDX-License-Identifier: Apache-2.0
#include "sources/counter_tracker.hpp"

#include <algorithm>

namespace rdmend::sources {
namespace {

Source width_source(CounterSet set) {
  switch (set) {
    case CounterSet::hardware: return Source::hw_counters;
    case CounterSet::pma: return Source::counters;
    case CounterSet::ethtool: return Source::ethtool;
    case CounterSet::netdev: return Source::netdev;
    case CounterSet::dcb: return Source::dcb;
  }
  return Source::hw_counters;
}

}  // namespace

Step counter_step(const Width& width, std::uint64_t before, std::uint64_t now) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31U;
  if (now >= before) return {false, now - before};
  if (width.bits == 32 && !width.saturates && before > kHalf) {
    // 32 bit arithmetic: what the driver adds to the register (mlx5's sums over counter sets) does not disturb the remainder.
    const std::uint64_t grown = (now - before) & 0xffff'ffffU;
    if (grown < kHalf) return {false, grown};
  }
  return {true, 0};
}

void CounterTracker::take_value(CounterSet set, const std::string& name, std::uint64_t value, std::vector<std::string>& resets) {
  const auto index = static_cast<std::size_t>(set);
  auto& counters = sets_[index];
  const auto known = counters.find(name);
  if (known == counters.end()) {
    if (counters.size() >= kMost) {
      ++overflow_[index];
      return;
    }
    Counter counter{.width = counter_width(driver_, width_source(set), name), .gauge = is_gauge(driver_, name)};
    counter.present = true;
    counter.raw = value;
    counter.total = from_zero_[index] && !counter.gauge ? 0 : value;
    counters.emplace(name, counter);
    return;
  }
  Counter& counter = known->second;
  counter.present = true;
  if (counter.gauge) {
    counter.raw = counter.total = value;
    return;
  }
  const auto step = counter_step(counter.width, counter.raw, value);
  if (step.reset) {
    resets.push_back(name);
    counter.lost += counter.total;
  }
  counter.total = step.reset ? value : counter.total + step.grown;
  counter.raw = value;
}

std::vector<std::string> CounterTracker::ingest(CounterSet set, const CounterReading& reading) {
  std::vector<std::string> resets;
  if (reading.skipped) return resets;
  const auto index = static_cast<std::size_t>(set);
  auto& counters = sets_[index];
  overflow_[index] = 0;
  for (auto& [name, counter] : counters) {
    counter.existed = counter.exists();
    counter.present = counter.failed = false;
  }
  for (const auto& [name, value] : reading.values) take_value(set, name, value, resets);
  if (!reading.values.empty()) from_zero_[index] = false;
  for (const auto& fault : reading.faults)
    if (const auto known = counters.find(fault.name); known != counters.end()) known->second.failed = true;
  const auto changed = [](const auto& entry) { return entry.second.exists() != entry.second.existed; };
  if (std::any_of(counters.begin(), counters.end(), changed)) ++shape_;
  return resets;
}

void CounterTracker::begin_at_zero() {
  std::fill(std::begin(from_zero_), std::end(from_zero_), true);
  for (auto& set : sets_)
    for (auto& [name, counter] : set)
      if (!counter.gauge) counter.total = counter.lost = 0;
}

const Counter* CounterTracker::find(CounterSet set, const std::string& name) const {
  const auto& counters = of(set);
  const auto known = counters.find(name);
  return known == counters.end() ? nullptr : &known->second;
}

}  // namespace rdmend::sources
