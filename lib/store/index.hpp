// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/series.hpp"

namespace rdmend::store {

using Slot = std::uint32_t;

// Finds series: by their whole label set, and by matchers through a list of series for every label pair.
// Lists are in label order. A list's key is the pair's hash alone: matchers are checked against the labels
// anyway, so two pairs that share a list cost time, never a wrong answer.
class Index {
 public:
  explicit Index(const std::vector<std::unique_ptr<Series>>& slots) : slots_(slots) {}

  [[nodiscard]] const Slot* find(const Labels& labels) const;
  void insert(Slot slot);
  // Removes the series of `slots`, which are still there.
  void erase(std::span<const Slot> slots);
  // The shortest list that holds every series that matches.
  [[nodiscard]] const std::vector<Slot>& candidates(std::span<const Matcher> matchers) const;
  [[nodiscard]] const std::vector<Slot>& all() const { return all_; }

 private:
  void insert_into(std::vector<Slot>& list, Slot slot);

  const std::vector<std::unique_ptr<Series>>& slots_;
  std::unordered_multimap<std::size_t, Slot> by_labels_;
  std::unordered_map<std::size_t, std::vector<Slot>> by_pair_;
  std::vector<Slot> all_;
};

}  // namespace rdmend::store
