// SPDX-License-Identifier: Apache-2.0
#include "remedies/hold_downs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rdmend::remedies {

milliseconds HoldDowns::left(const std::string& rule, const std::string& target, Timestamp now) const {
  const auto at = entries_.find({rule, target});
  if (at == entries_.end()) return milliseconds{0};
  // A wall clock that was set back must not hold a target down for longer than was meant.
  return std::clamp(at->second.until - now, milliseconds{0}, at->second.length);
}

void HoldDowns::acted(const std::string& rule, const std::string& target, Timestamp now, milliseconds first,
                      milliseconds most) {
  std::erase_if(entries_, [&](const auto& item) { return now >= item.second.until + most; });
  while (entries_.size() >= kMostKeys)
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  auto& entry = entries_[{rule, target}];
  entry.length = entry.length.count() == 0 ? std::min(first, most) : std::min(entry.length * 2, most);
  entry.until = now + entry.length;
}

std::string HoldDowns::save() const {
  auto all = nlohmann::json::array();
  for (const auto& [key, entry] : entries_)
    all.push_back({key.first, key.second, entry.until.time_since_epoch().count(), entry.length.count()});
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void HoldDowns::restore(const std::string& text, Timestamp now, milliseconds most) {
  const auto all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_array()) return;
  for (const auto& item : all) {
    if (!item.is_array() || item.size() != 4 || !item[0].is_string() || !item[1].is_string() ||
        !item[2].is_number_integer() || !item[3].is_number_integer() || entries_.size() >= kMostKeys)
      continue;
    const milliseconds length{
        std::clamp<std::int64_t>(item[3].get<std::int64_t>(), 1, std::max<std::int64_t>(most.count(), 1))};
    const Timestamp until{milliseconds{item[2].get<std::int64_t>()}};
    entries_[{item[0].get<std::string>(), item[1].get<std::string>()}] = {std::min(until, now + length),
                                                                          length};
  }
}

}  // namespace rdmend::remedies
