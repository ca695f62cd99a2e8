// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "differential/answer.hpp"

namespace rdmend::differential {

// A directory of its own that goes when this does.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A real Prometheus that holds `series` and nothing else, on a free port of the loopback.
class Prometheus {
 public:
  static Result<std::unique_ptr<Prometheus>> start(const std::vector<Series>& series);
  ~Prometheus();
  // An error here is one of the test itself: no answer, or one that cannot be read.
  Result<Answer> ask(const Case& query);

 private:
  struct Http;
  Prometheus();
  Result<void> write_blocks(const std::vector<Series>& series);
  Result<void> launch();
  Result<void> wait_ready();

  ScratchDirectory directory_;
  std::unique_ptr<Http> http_;
  pid_t pid_ = -1;
  std::string address_;
};

}  // namespace rdmend::differential
