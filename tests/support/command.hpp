// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/wait.h>

namespace rdmend::test {

struct CommandResult {
  int status = -1;     // exit status, or 128 + signal
  std::string output;  // standard output, and standard error where the command line joins it
};

// Runs a shell command line to its end.
inline CommandResult run_command(const std::string& line) {
  CommandResult result;
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) result.output.append(buffer, got);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

inline void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rdmend::test
