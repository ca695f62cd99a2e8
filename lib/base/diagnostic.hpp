// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rdmend {

// 1-based, counted in bytes as editors and compilers do; line 0 means "the file as a whole".
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

// One fault of something that a user wrote: what is wrong, and what would be right.
struct Diagnostic {
  enum class Severity { error, warning };
  Severity severity = Severity::error;
  std::string file;
  Position at;
  std::string what;
  std::string hint;  // may be empty

  // "rules.yaml:3:7: error: unknown key 'exprr'; did you mean 'expr'?"
  [[nodiscard]] std::string text() const;
};

// All the faults of a set of files, in the order they were found.
class Diagnostics {
 public:
  void error(std::string file, Position at, std::string what, std::string hint = {});
  void warning(std::string file, Position at, std::string what, std::string hint = {});
  [[nodiscard]] bool failed() const { return errors_ > 0; }
  [[nodiscard]] const std::vector<Diagnostic>& all() const { return all_; }
  [[nodiscard]] std::string text() const;  // one line each

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

}  // namespace rdmend
