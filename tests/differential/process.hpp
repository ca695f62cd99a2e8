// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace rdmend::differential {

// Starts argv[0] of PATH with its output going to the file `log`. The child ends when this process does.
Result<pid_t> spawn(const std::vector<std::string>& argv, const std::string& log);
// Waits for its end: its exit status, or 128 + signal.
int wait_for(pid_t pid);
// True while it has not ended (without reaping it).
bool alive(pid_t pid);
// A port of 127.0.0.1 that nobody listens on now; 0 when there is none.
int free_port();

}  // namespace rdmend::differential
