// SPDX-License-Identifier: Apache-2.0
#include "sources/memory.hpp"

#include <algorithm>

namespace rdmend::sources {

DeviceSeries Memory::begin(const std::string& name, const std::string& key) {
  const auto before = had_.find(name);
  const bool another_had_it = before != had_.end() && before->second != key;
  if (before != had_.end() || had_.size() < kMost) had_[name] = key;
  if (const auto known = left_.find(key); known != left_.end()) {
    DeviceSeries series = std::move(known->second);
    left_.erase(known);
    std::erase(order_, key);
    series.rename(name);
    if (another_had_it) series.begin_at_zero();
    return series;
  }
  DeviceSeries series(name);
  if (another_had_it) series.begin_at_zero();
  return series;
}

void Memory::leave(const std::string& key, DeviceSeries series) {
  std::erase(order_, key);
  order_.push_back(key);
  left_.insert_or_assign(key, std::move(series));
  if (order_.size() <= kMost) return;
  left_.erase(order_.front());
  order_.pop_front();
}

}  // namespace rdmend::sources
