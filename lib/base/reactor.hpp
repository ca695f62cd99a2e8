// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "base/clock.hpp"

namespace rdmend {

// What the loop offers to the rooms of lib/, which know no libev. The daemon implements it on libev, tests on virtual time.
// Everything but post() belongs to the loop's thread. A Watch ends when it is destroyed; destroying it inside its own
// callback is allowed.
class Reactor {
 public:
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  using Handle = std::unique_ptr<Watch>;

  struct Interest {
    bool readable = false;
    bool writable = false;
  };
  struct Ready {
    bool readable = false;
    bool writable = false;
  };

  virtual ~Reactor() = default;
  // Calls back while `fd` is ready, level-triggered. The fd stays the caller's.
  virtual Handle watch(int fd, Interest interest, std::function<void(Ready)> callback) = 0;
  // Calls back once, after `delay`.
  virtual Handle after(milliseconds delay, std::function<void()> callback) = 0;
  // Calls back every `period`; late ticks are merged, never made up for.
  virtual Handle every(milliseconds period, std::function<void()> callback) = 0;
  // Runs `task` on the loop's thread, soon; may be called from any thread.
  virtual void post(std::function<void()> task) = 0;
  // Both clocks as read at this wake-up.
  [[nodiscard]] virtual Now now() const = 0;
};

}  // namespace rdmend
