// SPDX-License-Identifier: Apache-2.0
#include "sources/made_labels.hpp"

#include <algorithm>

namespace rdmend::sources {
namespace {

bool same(const Labels& made, MadeLabels::Wanted wanted) {
  auto at = made.begin();
  for (const auto& [name, value] : wanted) {
    if (value.empty()) continue;
    if (at == made.end() || at->second != value || at->first != name) return false;
    ++at;
  }
  return at == made.end();
}

}  // namespace

const Labels& MadeLabels::next(Wanted wanted) {
  if (next_ == made_.size()) made_.emplace_back();
  auto& labels = made_[next_++];
  if (!same(labels, wanted)) {
    std::vector<Labels::Pair> pairs;
    pairs.reserve(wanted.size());
    for (const auto& [name, value] : wanted) pairs.emplace_back(name, value);
    labels = Labels(std::move(pairs));
  }
  return labels;
}

}  // namespace rdmend::sources
