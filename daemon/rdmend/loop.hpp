// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "base/reactor.hpp"

namespace rdmend::daemon {

// By how much the wall clock was set back between two readings of both clocks; none or less than a second: 0.
milliseconds set_back(Now before, Now after);

// The daemon's one loop, on libev. Made, run and destroyed by one thread; only post() may come from others.
class Loop : public Reactor {
 public:
  Loop();
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Handle watch(int fd, Interest interest, std::function<void(Ready)> callback) override;
  Handle after(milliseconds delay, std::function<void()> callback) override;
  Handle every(milliseconds period, std::function<void()> callback) override;
  void post(std::function<void()> task) override;
  [[nodiscard]] Now now() const override;

  // Calls back, before all else of that wake-up, when the wall clock was set back by more than a second, and says by how much.
  void on_set_back(std::function<void(milliseconds)> callback);
  // Calls back on the loop for each arrival of `signal` (arrivals may merge). A signal belongs to one loop of the process.
  Handle on_signal(int signal, std::function<void()> callback);
  // Turns until stop().
  void run();
  // Turns until `condition` holds (true), at most `bound`; for tests and an orderly end.
  bool run_until(const std::function<bool()>& condition, milliseconds bound);
  void stop();

  // How the loop fares: time from a wake-up to the next sleep is busy time.
  struct Stats {
    std::uint64_t wakeups = 0;
    nanoseconds busy{0}, longest{0};
  };
  [[nodiscard]] Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::daemon
