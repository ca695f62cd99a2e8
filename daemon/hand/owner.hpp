// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "rdma_netlink.hpp"

namespace rdmend::hand {

// `proc` is a descriptor of /proc everywhere.

// The process (thread group) of a thread; code ESRCH when the thread has ended.
Result<std::uint32_t> process_of(int proc, std::uint32_t tid);
std::vector<std::uint32_t> all_processes(int proc);
// Why taking descriptors is impossible here whatever the process; "" when it is not.
std::string forbidden_everywhere(int proc);

// Copies of one process's descriptors of the device, held as short as can be: while they are open its QPs and memory could outlive it.
struct HeldFd {
  int number = -1;  // in its process
  UniqueFd fd;
};

// A process that has the device open.
class Owner {
 public:
  // Code ESRCH: it has ended; ENODEV: it has not got the device open. Else `message` is the sentence that names what forbids it.
  static Result<Owner> find(int proc, std::uint32_t tgid, const Device& device);
  // Takes copies. What is not the device's character device, and second copies of one open file, are given back at once.
  [[nodiscard]] Result<std::vector<HeldFd>> take() const;
  [[nodiscard]] std::uint32_t tgid() const { return tgid_; }

 private:
  int proc_ = -1;
  std::uint32_t tgid_ = 0;
  dev_t device_ = 0;
  std::string device_name_;
  UniqueFd pidfd_;  // keeps the number from meaning another process
  std::vector<int> numbers_;
};

// A batch: the descriptors of one owner, given back when kLongest has passed and taken again.
class Hold {
 public:
  explicit Hold(const Owner& owner) : owner_(owner) {}
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // Takes, or takes again when it is time.
  Result<void> refresh();
  void release();
  [[nodiscard]] const std::vector<HeldFd>& fds() const { return fds_; }
  // -1 when that descriptor is no longer there.
  [[nodiscard]] int fd(int number) const;
  [[nodiscard]] std::chrono::nanoseconds longest() const { return longest_; }

  // Half of what we promise: the last command of a batch still has to end.
  static constexpr std::chrono::milliseconds kLongest{5};

 private:
  const Owner& owner_;
  std::vector<HeldFd> fds_;
  std::chrono::steady_clock::time_point since_{};
  std::chrono::nanoseconds longest_{0};
};

}  // namespace rdmend::hand
