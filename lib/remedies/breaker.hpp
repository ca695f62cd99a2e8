// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace rdmend::remedies {

// Opens when too much of the host is to be acted on at once: then the fault is not one of this or that
// target. It stays open until an operator resets it.
class Breaker {
 public:
  struct Limits {
    double share = 0.5;
    std::size_t least = 8;
    milliseconds window = std::chrono::minutes{1};
  };
  // Would acting on `keys` too, of `total` targets of the host, be too much? "" or why.
  [[nodiscard]] std::string too_much(const std::vector<std::string>& keys, std::size_t total,
                                     const Limits& limits, Instant now);
  void acted(const std::vector<std::string>& keys, Instant now);
  void open(std::string why) { why_ = std::move(why); }
  void reset();
  // What was acted on within the window outlives a restart.
  [[nodiscard]] std::string save(Now now) const;
  void restore(const std::string& text, Now now);
  [[nodiscard]] bool is_open() const { return !why_.empty(); }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  static constexpr std::size_t kMostKeys = 65'536;
  std::map<std::string, Instant> acted_;  // bounded by the window and the host's budget
  std::string why_;
};

}  // namespace rdmend::remedies
