// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace rdmend::log {

// error: the daemon cannot do what it was asked to, someone must act. warning: it goes on without something.
// info: a change of state worth a line in a quiet log. debug: for its authors.
enum class Level { error, warning, info, debug };

// A field of the line: key=value on a terminal, RDMEND_KEY=value in the journal.
using Field = std::pair<std::string_view, std::string>;

// One line of subsystem `subsystem`. To the journal when stderr is the journal's stream, else to stderr.
void write(Level level, std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields = {});
// Lines of a lower level than `level` are dropped.
void set_level(Level level);

inline void error(std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::error, subsystem, message, fields);
}
inline void warning(std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::warning, subsystem, message, fields);
}
inline void info(std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::info, subsystem, message, fields);
}
inline void debug(std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::debug, subsystem, message, fields);
}

// Lets a repeatable fault through once a `period` for each key; the next line of that key says how many were held back.
class Limiter {
 public:
  explicit Limiter(milliseconds period = std::chrono::minutes{1}) : period_(period) {}
  // The number suppressed since the last line of this key, or -1 when this one is to be suppressed too.
  std::int64_t admit(const std::string& key, Instant now);

 private:
  struct Entry {
    std::string key;
    Instant next{};
    std::int64_t suppressed = 0;
  };
  static constexpr std::size_t kMostKeys = 256;  // more than that share one entry
  milliseconds period_;
  std::vector<Entry> entries_;
};

}  // namespace rdmend::log
