// SPDX-License-Identifier: Apache-2.0
#include "remedies/breaker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace rdmend::remedies {

std::string Breaker::too_much(const std::vector<std::string>& keys, std::size_t total, const Limits& limits,
                              Instant now) {
  std::erase_if(acted_, [&](const auto& item) { return now - item.second > limits.window; });
  std::set<std::string_view> all(keys.begin(), keys.end());
  for (const auto& [key, when] : acted_) all.insert(key);
  const auto count = all.size();
  if (count < limits.least || static_cast<double>(count) <= limits.share * static_cast<double>(total))
    return {};
  return fmt::format("{} of the host's {} RC QPs would be acted on within {}, more than {:g} %", count,
                     std::max(total, count), format_duration(limits.window), limits.share * 100);
}

void Breaker::acted(const std::vector<std::string>& keys, Instant now) {
  for (const auto& key : keys) acted_[key] = now;
}

void Breaker::reset() {
  why_.clear();
  acted_.clear();
}

}  // namespace rdmend::remedies
