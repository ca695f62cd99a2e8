// SPDX-License-Identifier: Apache-2.0
#include "rdmend/urgent.hpp"

#include <algorithm>

namespace rdmend::daemon {

void Urgent::mark(const Batch& batch) {
  for (const auto& sample : batch.samples) changed_.push_back(sample.labels);
  if (since_ || changed_.empty()) return;
  const auto now = reactor_.now().mono;
  since_ = now;
  const auto earliest = last_ ? *last_ + kSpacing : now;
  timer_ = reactor_.after(std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(earliest - now)), [this] { fire(); });
}

void Urgent::fire() {
  const auto changed = std::exchange(changed_, {});
  const auto since = *std::exchange(since_, std::nullopt);
  last_ = reactor_.now().mono;
  run_(changed, since);
}

}  // namespace rdmend::daemon
