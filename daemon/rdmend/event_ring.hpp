// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>

#include "model/event.hpp"

namespace rdmend::daemon {

// The newest events of all devices, oldest first.
class EventRing {
 public:
  static constexpr std::size_t kMost = 1000;

  void push(Event event) {
    if (events_.size() == kMost) events_.pop_front();
    events_.push_back(std::move(event));
  }
  [[nodiscard]] const std::deque<Event>& all() const { return events_; }

 private:
  std::deque<Event> events_;
};

}  // namespace rdmend::daemon
