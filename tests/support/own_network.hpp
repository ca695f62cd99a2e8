// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include "support/command.hpp"

namespace rdmend::test {

// Puts this process, once, into a network namespace of its own, with the veth pair va (10.9.0.1/24) and vb. False where it may
// not (no root). Threads that live already stay where they are.
inline bool own_network() {
  static const bool made = [] {
    if (unshare(CLONE_NEWNET) != 0) return false;
    return run_command("ip link set lo up && ip link add va address 02:00:00:00:09:01 type veth peer name vb && ip addr add 10.9.0.1/24 dev va && "
                       "ip addr add fd09::1/64 dev va nodad && ip link set va up && ip link set vb up 2>&1")
               .status == 0;
  }();
  return made;
}

// `ip neigh WORDS`
inline bool neighbour(const std::string& words) { return run_command("ip neigh " + words + " 2>&1").status == 0; }

}  // namespace rdmend::test
