// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "base/clock.hpp"

namespace rdmend::remedies {

// How long a target of a rule is left alone after an action: doubled each time, begun anew once it was left
// alone for the longest hold-down. On wall-clock time, since it outlives a restart.
class HoldDowns {
 public:
  // Zero when `rule` may act on `target` now.
  [[nodiscard]] milliseconds left(const std::string& rule, const std::string& target, Timestamp now) const;
  void acted(const std::string& rule, const std::string& target, Timestamp now, milliseconds first,
             milliseconds most);
  [[nodiscard]] std::string save() const;
  // What cannot be read is left out: a hold-down lost is an action too early, no more.
  void restore(const std::string& text, Timestamp now, milliseconds most);

 private:
  static constexpr std::size_t kMostKeys = 16'384;
  struct Entry {
    Timestamp until{};
    milliseconds length{0};
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

}  // namespace rdmend::remedies
