// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "sources/patience.hpp"
#include "sources/sysfs.hpp"

namespace rdmend::sources {

// A counter that could not be read: which, and why (an errno).
struct ReadFault {
  std::string name;
  int error = 0;
};

// What one reading of a set of counters gave.
struct CounterReading {
  std::vector<std::pair<std::string, std::uint64_t>> values;
  std::vector<ReadFault> faults;  // exist, and failed this time
  bool skipped = false;           // nothing was read: the last reading still stands
};

// A directory of counter files: counters/ or hw_counters/. Descriptors are kept; a file that fails hides no other, and is asked
// again as Patience says. Used in one worker at a time.
class CounterDir {
 public:
  // `path` is relative to the directory given to read(). A directory that is not there is an empty one.
  explicit CounterDir(std::string path) : path_(std::move(path)) {}
  // Skipped when the kernel would answer from its cache (the directory's `lifespan`, at most 10 s).
  CounterReading read(int at, Instant now);
  [[nodiscard]] bool exists() const { return !files_.empty(); }

  static constexpr auto kRelist = std::chrono::minutes{1};

 private:
  struct File {
    KeptFile file;
    std::string name;
    Patience patience{};
  };
  void relist(int at, Instant now);
  std::string path_;
  UniqueFd dir_;
  std::vector<File> files_;
  Instant next_list_{};
  Instant last_read_{};
  milliseconds lifespan_{0};
};

}  // namespace rdmend::sources
