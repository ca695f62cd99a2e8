// SPDX-License-Identifier: Apache-2.0
#include "remedies/breaker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
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

std::string Breaker::save(Now now) const {
  auto all = nlohmann::json::object();
  for (const auto& [key, when] : acted_) {
    const auto at = now.wall - std::chrono::duration_cast<milliseconds>(now.mono - when);
    all[key] = at.time_since_epoch().count();
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Breaker::restore(const std::string& text, Now now) {
  const auto all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_object()) return;
  constexpr milliseconds kLongest = std::chrono::hours{24 * 365};
  for (const auto& [key, at] : all.items()) {
    if (!at.is_number_integer() || acted_.size() >= kMostKeys) continue;
    const auto when = std::clamp<std::int64_t>(at.get<std::int64_t>(), 0, now.wall.time_since_epoch().count());
    acted_[key] = now.mono - std::min(now.wall.time_since_epoch() - milliseconds{when}, kLongest);
  }
}

void Breaker::reset() {
  why_.clear();
  acted_.clear();
}

}  // namespace rdmend::remedies
