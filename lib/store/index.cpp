// SPDX-License-Identifier: Apache-2.0
#include "store/index.hpp"

#include <algorithm>
#include <unordered_set>

namespace rdmend::store {
namespace {

std::size_t pair_key(std::string_view name, std::string_view value) {
  const std::hash<std::string_view> hash;
  return hash(name) * 0x9e3779b97f4a7c15ULL ^ hash(value);
}

// Each once, though two pairs of one series could share a hash.
std::vector<std::size_t> pair_keys(const Labels& labels) {
  std::vector<std::size_t> keys;
  keys.reserve(labels.size());
  for (const auto& [name, value] : labels) keys.push_back(pair_key(name, value));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

const std::vector<Slot> kNone;

}  // namespace

const Slot* Index::find(const Labels& labels) const {
  const auto [begin, end] = by_labels_.equal_range(labels.hash());
  for (auto at = begin; at != end; ++at)
    if (slots_[at->second]->labels() == labels) return &at->second;
  return nullptr;
}

void Index::insert_into(std::vector<Slot>& list, Slot slot) {
  const auto& labels = slots_[slot]->labels();
  const auto before = [&](Slot other, const Labels& wanted) { return slots_[other]->labels() < wanted; };
  if (list.empty() || before(list.back(), labels))
    list.push_back(slot);
  else
    list.insert(std::lower_bound(list.begin(), list.end(), labels, before), slot);
}

void Index::insert(Slot slot) {
  const auto& labels = slots_[slot]->labels();
  by_labels_.emplace(labels.hash(), slot);
  insert_into(all_, slot);
  for (const auto key : pair_keys(labels)) insert_into(by_pair_[key], slot);
}

void Index::erase(std::span<const Slot> slots) {
  const std::unordered_set<Slot> gone(slots.begin(), slots.end());
  const auto is_gone = [&](Slot slot) { return gone.contains(slot); };
  std::unordered_set<std::size_t> keys;
  for (const auto slot : slots) {
    const auto& labels = slots_[slot]->labels();
    const auto [begin, end] = by_labels_.equal_range(labels.hash());
    by_labels_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == slot; }));
    for (const auto key : pair_keys(labels)) keys.insert(key);
  }
  std::erase_if(all_, is_gone);
  for (const auto key : keys)
    if (const auto list = by_pair_.find(key);
        std::erase_if(list->second, is_gone) > 0 && list->second.empty())
      by_pair_.erase(list);
}

const std::vector<Slot>& Index::candidates(std::span<const Matcher> matchers) const {
  const std::vector<Slot>* shortest = &all_;
  for (const auto& matcher : matchers) {
    // An empty value asks for the absence of the label, which no list holds.
    if (matcher.op() != Matcher::Op::equal || matcher.value().empty()) continue;
    const auto list = by_pair_.find(pair_key(matcher.name(), matcher.value()));
    if (list == by_pair_.end()) return kNone;
    if (list->second.size() < shortest->size()) shortest = &list->second;
  }
  return *shortest;
}

}  // namespace rdmend::store
