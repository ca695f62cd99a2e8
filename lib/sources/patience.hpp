// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/clock.hpp"

namespace rdmend::sources {

// When a thing that failed is asked for again. Every question may cost a firmware command and a line in the kernel's log:
// what the device has not got is asked for very seldom, and a fault that stays once a minute.
class Patience {
 public:
  [[nodiscard]] bool due(Instant now) const { return now >= again_; }
  void answered();
  void failed(int error, Instant now);

  static constexpr auto kAbsent = std::chrono::hours{1};
  static constexpr auto kUnwell = std::chrono::minutes{1};
  static constexpr int kTries = 3;  // in a row, before a fault is taken for one that stays

 private:
  bool ever_answered_ = false;
  int failures_ = 0;
  Instant again_{};
};

// The device says that it has no such thing: EINVAL, EOPNOTSUPP, ENODATA, ENOSYS.
bool means_absent(int error);
// What it stood for has gone (and may have come back): looked for anew, not waited for.
bool means_gone(int error);

}  // namespace rdmend::sources
