// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "support/command.hpp"

namespace rdmend::test {

// A directory of one test, emptied at its beginning; commands run in it.
class Work {
 public:
  explicit Work(const std::string& name) : path_(std::string(RDMEND_BINARY_DIR) + "/rdmendctl_test/" + name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    write_file(path_ + "/" + name, text);
  }
  // Standard output and standard error, in that order.
  [[nodiscard]] CommandResult run(const std::string& command) const {
    auto result = run_command("cd " + path_ + " && { " + command + "; } 2>stderr");
    result.output += slurp(path_ + "/stderr");
    return result;
  }
  [[nodiscard]] CommandResult ctl(const std::string& arguments) const { return run(std::string(RDMENDCTL) + " " + arguments); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace rdmend::test
