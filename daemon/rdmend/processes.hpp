// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>

#include "base/reactor.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::daemon {

// Hooks as real child processes, each in a process group of its own, told apart by pidfd: the loop never waits for one, and
// no SIGCHLD is needed. What a hook leaves running in its group ends with it, or at its deadline.
class ChildProcesses : public remedies::Processes {
 public:
  static constexpr std::size_t kMostAtOnce = 16;
  static constexpr std::size_t kMostOutput = 4096;  // bytes that are kept of stdout and stderr; the rest is read and dropped

  explicit ChildProcesses(Reactor& reactor);
  ~ChildProcesses() override;  // kills what still runs
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  void run(std::vector<std::string> argv, std::vector<std::string> environment, std::string standard_input, milliseconds deadline,
           std::function<void(Exit)> done) override;

 private:
  struct Child;
  void drain(Child& child);
  void finish(std::uint64_t id);

  Reactor& reactor_;
  std::map<std::uint64_t, std::unique_ptr<Child>> children_;
  std::uint64_t next_id_ = 0;
};

}  // namespace rdmend::daemon
