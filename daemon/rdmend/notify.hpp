// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/reactor.hpp"

namespace rdmend::daemon {

// What systemd hears of us (sd_notify(3)); nothing when it did not start us. The watchdog is fed by a timer of the loop and
// by nothing else: a loop that hangs is seen.
class Notify {
 public:
  explicit Notify(Reactor& reactor);
  void ready(const std::string& status) const;
  void reloading() const;
  void stopping() const;
  // Told only when it is another than before.
  void status(const std::string& text);

 private:
  std::string told_;
  Reactor::Handle watchdog_;
};

}  // namespace rdmend::daemon
