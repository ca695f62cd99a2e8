// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/result.hpp"

namespace rdmend::hand {

// Gives up every capability but CAP_SYS_PTRACE, for good, in all sets. That one is what pidfd_getfd and /proc/PID/{root,fdinfo} of another
// user's process ask for (PTRACE_MODE_ATTACH, PTRACE_MODE_READ); the ioctls on the descriptor need none. Not having it is no error: the
// hand then says so when it is asked (probe).
Result<void> keep_only_ptrace();

// PR_SET_NO_NEW_PRIVS, not dumpable, and a filter of the few system calls that the hand makes; any other kills it. No sockets are made,
// no files opened for writing, nothing executed, no memory made executable, and the only ioctl is the one of uverbs.
Result<void> close_sandbox();

}  // namespace rdmend::hand
