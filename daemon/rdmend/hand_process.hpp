// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace rdmend::daemon {

// A connected hand: its socket (non-blocking) and, when it is our child, its pidfd.
struct HandProcess {
  UniqueFd socket;
  UniqueFd pidfd;
  int pid = 0;
};

// Starts the program at `path`, or connects when that is a socket.
Result<HandProcess> reach_hand(const std::string& path);
void kill_hand(const HandProcess& hand);
// Once the pidfd is readable: "was killed by signal 9 (Killed)".
std::string how_it_ended(const HandProcess& hand);

}  // namespace rdmend::daemon
