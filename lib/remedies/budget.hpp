// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// How much may be acted on: token buckets a target, a process and for the host. A value, so that a dry run
// can spend a copy.
class Budget {
 public:
  struct Limits {
    config::Bucket qp, process, host;
  };
  explicit Budget(Limits limits) : limits_(limits) {}
  void set_limits(Limits limits) { limits_ = limits; }
  // Takes one token of each bucket that `target` needs, or none: then why.
  std::string take(const Action::Target& target, Instant now);
  // What is spent outlives a restart, and comes back meanwhile.
  [[nodiscard]] std::string save(Now now) const;
  void restore(const std::string& text, Now now);

 private:
  struct Level {
    double spent = 0;  // tokens; comes back with time
    Instant at{};
  };
  static constexpr std::size_t kMostKeys = 65'536;
  static void refill(Level& level, const config::Bucket& bucket, Instant now);
  static bool has_token(Level& level, const config::Bucket& bucket, Instant now);
  void forget_full(Instant now);

  using Levels = std::map<std::string, Level>;

  Limits limits_;
  Levels targets_, processes_;
  Level host_;
};

}  // namespace rdmend::remedies
