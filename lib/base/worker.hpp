// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/reactor.hpp"

namespace rdmend {

// One thread for work that may block (a firmware command behind a sysfs read, a disk). A job's result comes back as a
// closure that runs on the loop's thread. A worker that hangs costs its own queue only: destroying the Worker never waits
// for a job (the thread is left to end by itself, and what it would have delivered is dropped).
class Worker {
 public:
  // `name` is the thread's name (at most 15 bytes are shown by the kernel).
  Worker(Reactor& reactor, const std::string& name);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs `job` in the thread, then the closure it returned on the loop. Refused (false) when `limit` jobs already wait.
  bool submit(std::function<std::function<void()>()> job);
  // When the job that runs now began, or Instant::max() when the worker is idle: the loop's means to see a hang.
  [[nodiscard]] Instant busy_since() const;
  // Jobs that wait or run.
  [[nodiscard]] std::size_t pending() const;
  // Blocks until all submitted jobs have run, at most `deadline`; for an orderly end, never for the loop.
  bool drain(milliseconds deadline);

  static constexpr std::size_t limit = 1024;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rdmend
