// SPDX-License-Identifier: Apache-2.0
#include "sandbox.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/c_handle.hpp"

namespace rdmend::hand {
namespace {

// What may be called with any arguments: reading, answering, memory, the clock, the end.
constexpr std::array kFree{SCMP_SYS(read),       SCMP_SYS(write),     SCMP_SYS(close),        SCMP_SYS(fstat),         SCMP_SYS(newfstatat),
                           SCMP_SYS(getdents64), SCMP_SYS(lseek),     SCMP_SYS(recvmsg),      SCMP_SYS(recvfrom),      SCMP_SYS(sendto),
                           SCMP_SYS(sendmsg),    SCMP_SYS(brk),       SCMP_SYS(munmap),       SCMP_SYS(mremap),        SCMP_SYS(madvise),
                           SCMP_SYS(futex),      SCMP_SYS(getpid),    SCMP_SYS(gettid),       SCMP_SYS(clock_gettime), SCMP_SYS(rt_sigreturn),
                           SCMP_SYS(kcmp),       SCMP_SYS(exit),      SCMP_SYS(exit_group),   SCMP_SYS(pidfd_open),    SCMP_SYS(pidfd_getfd),
                           SCMP_SYS(restart_syscall)};
#if defined(__SANITIZE_ADDRESS__)
constexpr std::array kSanitizer{SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sched_yield), SCMP_SYS(readlink), SCMP_SYS(prctl)};
#endif

using Filter = CHandle<void, seccomp_release>;

int allow(const Filter& filter, int call) { return seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0); }

// Only where the call's argument number `argument` is `value` in the bits of `mask`.
int allow_masked(const Filter& filter, int call, unsigned argument, std::uint64_t mask, std::uint64_t value) {
  const scmp_arg_cmp condition{argument, SCMP_CMP_MASKED_EQ, mask, value};
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &condition);
}

int allow_narrowed(const Filter& filter) {
  constexpr std::uint64_t kWord = 0xffffffff;
  int failed = allow_masked(filter, SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
  failed |= allow_masked(filter, SCMP_SYS(ioctl), 1, kWord, RDMA_VERBS_IOCTL);
  failed |= allow_masked(filter, SCMP_SYS(fcntl), 1, kWord, F_GETFL);
  failed |= allow_masked(filter, SCMP_SYS(fcntl), 1, kWord, F_SETFD);
  failed |= allow_masked(filter, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
  failed |= allow_masked(filter, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
  return failed;
}

}  // namespace

Result<Rights> keep_only_what_remedies_need() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return errno_error("capget", errno);
  // Bounding set and ambient set first, while CAP_SETPCAP, if we have it, still lets us.
  constexpr std::uint32_t kNeeded = (1U << CAP_SYS_PTRACE) | (1U << CAP_NET_ADMIN);
  for (unsigned long cap = 0; cap <= CAP_LAST_CAP; ++cap)
    if (cap >= 32 || ((kNeeded >> cap) & 1U) == 0) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno_error("ambient capabilities", errno);
  const std::uint32_t kept = sets[0].permitted & kNeeded;
  sets[0] = {kept, kept, 0};
  sets[1] = {};
  if (syscall(SYS_capset, &header, sets.data()) != 0) return errno_error("capset", errno);
  return Rights{((kept >> CAP_NET_ADMIN) & 1U) != 0};
}

Result<void> close_sandbox() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error("no_new_privs", errno);
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno_error("dumpable", errno);
  const Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (!filter) return Error{"seccomp: no filter could be made"};
  int failed = allow_narrowed(filter);
  for (const auto call : kFree) failed |= allow(filter, call);
#if defined(__SANITIZE_ADDRESS__)
  for (const auto call : kSanitizer) failed |= allow(filter, call);
#endif
  if (failed != 0) return Error{"seccomp: a rule was refused"};
  if (const int error = seccomp_load(filter.get()); error != 0) return errno_error("seccomp", -error);
  return {};
}

}  // namespace rdmend::hand
