// SPDX-License-Identifier: Apache-2.0
#include "rdmend/hand_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace rdmend::daemon {
namespace {

constexpr int kSocketOfChild = 3;

Result<HandProcess> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Error{path + " is too long for a socket's path"};
  path.copy(address.sun_path, path.size());
  HandProcess hand;
  hand.socket.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!hand.socket || connect(hand.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return errno_error(path, errno);
  return hand;
}

struct SpawnAttributes {
  SpawnAttributes() {
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  posix_spawnattr_t attributes{};
};

struct SpawnFiles {
  explicit SpawnFiles(int socket) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, kSocketOfChild);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, kSocketOfChild + 1);
  }
  ~SpawnFiles() { posix_spawn_file_actions_destroy(&actions); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  posix_spawn_file_actions_t actions{};
};

Result<HandProcess> start(const std::string& path) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return errno_error("socketpair", errno);
  HandProcess hand;
  hand.socket.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return errno_error("socketpair", errno);
  const SpawnAttributes attributes;
  const SpawnFiles files(theirs.get());
  std::string name = path;
  std::array<char*, 2> words{name.data(), nullptr};
  std::array<char*, 1> environment{nullptr};  // the hand reads none, and none can lead it astray
  pid_t pid = 0;
  if (const int error = posix_spawn(&pid, path.c_str(), &files.actions, &attributes.attributes, words.data(), environment.data()); error != 0)
    return errno_error(path, error);
  hand.pid = pid;
  hand.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (hand.pidfd) return hand;
  const auto error = errno_error("pidfd_open", errno);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return error;
}

}  // namespace

Result<HandProcess> reach_hand(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno_error(path, errno);
  return S_ISSOCK(info.st_mode) ? connect_to(path) : start(path);
}

void kill_hand(const HandProcess& hand) {
  if (hand.pidfd) syscall(SYS_pidfd_send_signal, hand.pidfd.get(), SIGKILL, nullptr, 0);
}

std::string how_it_ended(const HandProcess& hand) {
  siginfo_t info{};
  if (waitid(P_PIDFD, static_cast<id_t>(hand.pidfd.get()), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) return "ended";
  if (info.si_code == CLD_EXITED) return fmt::format("ended with status {}", info.si_status);
  if (info.si_status == SIGSYS) return "was ended by its system call filter";
  return fmt::format("was killed by signal {} ({})", info.si_status, strsignal(info.si_status));  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace rdmend::daemon
