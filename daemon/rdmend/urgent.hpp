// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/reactor.hpp"
#include "model/sample.hpp"

namespace rdmend::daemon {

// Gathers the series that events changed and runs the rules that read them: the first at once (this turn's batches together),
// then at most one run each kSpacing.
class Urgent {
 public:
  // `run` gets what changed and when the earliest of it was read (its wake-up).
  using Run = std::function<void(std::span<const Labels> changed, Instant since)>;
  static constexpr milliseconds kSpacing{5};

  Urgent(Reactor& reactor, Run run) : reactor_(reactor), run_(std::move(run)) {}
  void mark(const Batch& batch);

 private:
  void fire();

  Reactor& reactor_;
  Run run_;
  std::vector<Labels> changed_;
  std::optional<Instant> since_, last_;
  Reactor::Handle timer_;
};

}  // namespace rdmend::daemon
