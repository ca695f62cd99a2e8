// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "config/config.hpp"

namespace rdmend::daemon {

// A listening socket that was handed over at the start, and where it listens. It stays open as long as the process: whoever
// made it keeps it open too, so that its address could not be bound anew after a reload.
struct PassedSocket {
  int fd = -1;
  config::Listen where;
};

// What systemd passed (sd_listen_fds(3)); a descriptor that is no listening stream socket is logged and left out.
std::vector<PassedSocket> passed_sockets();

// Whether both are one address, however it is written.
bool same_address(const config::Listen& a, const config::Listen& b);

}  // namespace rdmend::daemon
