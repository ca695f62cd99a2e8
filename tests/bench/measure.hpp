// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmend::bench {

// CPU time of all threads of a process, dead ones too.
double cpu_seconds(pid_t pid);
double own_cpu_seconds();

struct Memory {
  double resident = 0, proportional = 0, anonymous = 0;  // MiB
};
Memory memory_of(pid_t pid);

// Times that the threads of a process were put to sleep or off the CPU, of those that live.
struct Switches {
  std::uint64_t voluntary = 0, other = 0;
};
Switches switches_of(pid_t pid);

// GET of a page of this host on a connection of its own: the body; "" when it fails. `seconds`: from connect() to its end.
std::string http_get(std::uint16_t port, const std::string& path, const std::string& headers = {}, double* seconds = nullptr);
// Waits, at most a minute, until the page has `text` in it. Ends the program when it never does.
void wait_for_text(std::uint16_t port, const std::string& path, std::string_view text);
// Lines that are samples whose name begins so.
std::size_t count_series(const std::string& page, std::string_view prefix);
// The value of the first sample that begins with `series`; NaN when there is none.
double sample_value(const std::string& page, std::string_view series);

double quantile(std::vector<double> values, double q);

}  // namespace rdmend::bench
