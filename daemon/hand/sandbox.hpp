// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/result.hpp"

namespace rdmend::hand {

struct Rights {
  bool net_admin = false;
};
// Gives up every capability but two, for good, in all sets. CAP_SYS_PTRACE is what pidfd_getfd and /proc/PID/{root,fdinfo} of another
// user's process ask for (PTRACE_MODE_ATTACH, PTRACE_MODE_READ); the ioctls on the descriptor need none. CAP_NET_ADMIN is what route netlink
// asks for to have a neighbour resolved again. Not having one is no error: the hand then says so when it is asked.
Result<Rights> keep_only_what_remedies_need();

// PR_SET_NO_NEW_PRIVS, not dumpable, and a filter of the few system calls that the hand makes; any other kills it. No sockets are made,
// no files opened for writing, nothing executed, no memory made executable, and the only ioctl is the one of uverbs.
Result<void> close_sandbox();

}  // namespace rdmend::hand
