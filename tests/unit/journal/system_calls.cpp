// SPDX-License-Identifier: Apache-2.0
#include "unit/journal/system_calls.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rdmend::test {
namespace {

std::array<std::atomic<std::uint32_t>, kCalls> counts{};
std::atomic<std::uint32_t> fatal{0};
std::atomic<Call> fatal_kind{};
std::atomic<Moment> fatal_moment{};
std::atomic<int> failing{0};
std::atomic<bool> holding{false};

bool is_ours(const char* path) { return std::strstr(path, "rdmend.db") != nullptr; }

bool is_ours(int fd) {
  std::array<char, 32> link{};
  std::array<char, 512> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  return syscall(SYS_readlinkat, AT_FDCWD, link.data(), path.data(), path.size() - 1) > 0 && is_ours(path.data());
}

void die() { syscall(SYS_kill, syscall(SYS_getpid), SIGKILL); }

// Runs `call`, or what was asked for instead; `half` does half of it.
template <class What, class CallIt, class Half>
long through(Call kind, What what, CallIt call, Half half) {
  if (!is_ours(what)) return call();
  while (holding) holding.wait(true);
  if (failing != 0) {
    errno = failing;
    return -1;
  }
  const bool last = ++counts[static_cast<std::size_t>(kind)] == fatal && kind == fatal_kind;
  if (last && fatal_moment == Moment::halfway) half();
  if (last && fatal_moment != Moment::after) die();
  const long result = call();
  if (last) die();
  return result;
}

constexpr auto kNothing = [] {};

}  // namespace

void kill_at(Call kind, std::uint32_t count, Moment moment) {
  for (auto& one : counts) one = 0;
  fatal_kind = kind;
  fatal_moment = moment;
  fatal = count;
}
std::uint32_t calls(Call kind) { return counts[static_cast<std::size_t>(kind)]; }
void fail_calls(int error) { failing = error; }
void hold_calls(bool held) {
  holding = held;
  holding.notify_all();
}

}  // namespace rdmend::test

using namespace rdmend::test;

extern "C" {

ssize_t write(int fd, const void* data, size_t size) {
  return through(
      Call::write, fd, [&] { return syscall(SYS_write, fd, data, size); }, [&] { syscall(SYS_write, fd, data, size / 2); });
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  return through(
      Call::write, fd, [&] { return syscall(SYS_pwrite64, fd, data, size, at); },
      [&] { syscall(SYS_pwrite64, fd, data, size / 2, at); });
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
int fsync(int fd) {
  return static_cast<int>(through(Call::sync, fd, [&] { return syscall(SYS_fsync, fd); }, kNothing));
}
int fdatasync(int fd) {
  return static_cast<int>(through(Call::sync, fd, [&] { return syscall(SYS_fdatasync, fd); }, kNothing));
}
int ftruncate64(int fd, off64_t size) noexcept {
  return static_cast<int>(through(Call::truncate, fd, [&] { return syscall(SYS_ftruncate, fd, size); }, kNothing));
}
int ftruncate(int fd, off_t size) noexcept { return ftruncate64(fd, size); }
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(through(Call::rename, from, [&] { return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); }, kNothing));
}
int unlink(const char* path) noexcept {
  return static_cast<int>(through(Call::unlink, path, [&] { return syscall(SYS_unlinkat, AT_FDCWD, path, 0); }, kNothing));
}

}  // extern "C"
