// SPDX-License-Identifier: Apache-2.0
#include "owner.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/c_handle.hpp"

namespace rdmend::hand {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::size_t kMostProcesses = std::size_t{1} << 17;
constexpr std::size_t kMostDescriptors = std::size_t{1} << 16;  // looked at in one process
constexpr std::size_t kMostContexts = 64;           // open files of the device in one process

Result<std::string> read_file(int directory, const std::string& path) {
  const UniqueFd fd(openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(path, errno);
  std::array<char, 8192> buffer{};
  const auto got = read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) return errno_error(path, errno);
  return std::string(buffer.data(), static_cast<std::size_t>(got));
}

template <class T>
std::optional<T> parse(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The value of the line "key:\tvalue" of a /proc file, "" when there is none.
std::string_view field(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.starts_with(key) && line.size() > key.size() + 1 && line[key.size()] == ':') return line.substr(key.size() + 2);
    at = end + 1;
  }
  return {};
}

// The entries of a directory whose names are numbers.
Result<std::vector<std::uint32_t>> numbers_in(int directory, const std::string& path, std::size_t most) {
  UniqueFd fd(openat(directory, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(path, errno);
  const CHandle<DIR, closedir> stream(fdopendir(fd.get()));
  if (!stream) return errno_error(path, errno);
  fd.release();
  std::vector<std::uint32_t> numbers;
  while (const auto* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe): one stream, one thread
    if (const auto value = parse<std::uint32_t>(entry->d_name)) numbers.push_back(*value);
    if (numbers.size() >= most) break;
  }
  return numbers;
}

bool has_ptrace(int proc) {
  const auto status = read_file(proc, "self/status");
  const auto effective = status ? parse<std::uint64_t>(field(*status, "CapEff"), 16) : std::nullopt;
  return effective && (*effective >> CAP_SYS_PTRACE & 1) != 0;
}

bool in_user_namespace(int proc) {
  const auto map = read_file(proc, "self/uid_map");
  return map && map->find("4294967295") == std::string::npos;
}

bool yama_forbids_all(int proc) {
  const auto scope = read_file(proc, "sys/kernel/yama/ptrace_scope");
  return scope && scope->starts_with("3");
}

// Which of the things that can forbid it did.
Error refused(int proc, std::uint32_t tgid) {
  if (auto everywhere = forbidden_everywhere(proc); !everywhere.empty()) return {std::move(everywhere), EPERM};
  return {fmt::format("the kernel refuses the descriptors of process {}, though rdmend-hand holds CAP_SYS_PTRACE: {}", tgid,
                      in_user_namespace(proc) ? "rdmend-hand runs in a user namespace that does not own that process"
                                              : "a security module (AppArmor, SELinux) forbids it"),
          EPERM};
}

Error ended(std::uint32_t tgid) { return {fmt::format("process {} has ended", tgid), ESRCH}; }

// Inodes under which the process, and we, see the device's node: what its fdinfo has to name. Reading links in /proc/PID/fd would tell more
// simply, but that directory is its user's own: it would take CAP_DAC_READ_SEARCH, every file of the host, beside CAP_SYS_PTRACE.
std::vector<ino_t> node_inodes(int proc, std::uint32_t tgid, const Device& device) {
  std::vector<ino_t> inodes;
  for (const auto& path : {fmt::format("{}/root/dev/infiniband/{}", tgid, device.uverbs), fmt::format("self/root/dev/infiniband/{}", device.uverbs)}) {
    struct stat info {};
    if (fstatat(proc, path.c_str(), &info, 0) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == device.number) inodes.push_back(info.st_ino);
  }
  return inodes;
}

// May descriptor `number` be the device's? Only those are copied: whatever else a process has open is none of our business.
bool may_be_device(int proc, std::uint32_t tgid, std::uint32_t number, const std::vector<ino_t>& inodes) {
  const auto info = read_file(proc, fmt::format("{}/fdinfo/{}", tgid, number));
  if (!info) return false;
  const auto flags = parse<unsigned>(field(*info, "flags"), 8);
  const auto inode = parse<ino_t>(field(*info, "ino"));
  return flags && (*flags & O_ACCMODE) == O_RDWR && inode && std::find(inodes.begin(), inodes.end(), *inode) != inodes.end();
}

bool same_file(int a, int b) { return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b) == 0; }

}  // namespace

Result<std::uint32_t> process_of(int proc, std::uint32_t tid) {
  const auto status = read_file(proc, fmt::format("{}/status", tid));
  if (!status) return Error{fmt::format("thread {} has ended", tid), ESRCH};
  const auto tgid = parse<std::uint32_t>(field(*status, "Tgid"));
  if (!tgid) return Error{fmt::format("/proc tells no process of thread {}", tid), EINVAL};
  return *tgid;
}

std::vector<std::uint32_t> all_processes(int proc) {
  auto found = numbers_in(proc, ".", kMostProcesses);
  return found ? std::move(*found) : std::vector<std::uint32_t>{};
}

std::string forbidden_everywhere(int proc) {
  if (yama_forbids_all(proc)) return "kernel.yama.ptrace_scope is 3: until the next boot no process may reach into another";
  if (!has_ptrace(proc)) return "rdmend-hand lacks CAP_SYS_PTRACE, without which it reaches no other user's process";
  return {};
}

Result<Owner> Owner::find(int proc, std::uint32_t tgid, const Device& device) {
  Owner owner;
  owner.proc_ = proc;
  owner.tgid_ = tgid;
  owner.device_ = device.number;
  owner.device_name_ = device.name;
  owner.pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, tgid, 0)));
  if (!owner.pidfd_) {
    if (errno == ESRCH) return ended(tgid);
    return errno_error(fmt::format("pidfd_open of process {}", tgid), errno);
  }
  const auto numbers = numbers_in(proc, fmt::format("{}/fdinfo", tgid), kMostDescriptors);
  if (!numbers) {
    if (numbers.error().code == EACCES || numbers.error().code == EPERM) return refused(proc, tgid);
    return ended(tgid);
  }
  const auto inodes = node_inodes(proc, tgid, device);
  for (const auto number : *numbers)
    if (may_be_device(proc, tgid, number, inodes)) owner.numbers_.push_back(static_cast<int>(number));
  if (owner.numbers_.size() > kMostContexts) owner.numbers_.resize(kMostContexts);
  if (!owner.numbers_.empty()) return owner;
  const auto status = read_file(proc, fmt::format("{}/status", tgid));
  if (!status) return ended(tgid);
  if (field(*status, "State").starts_with("Z"))
    return Error{fmt::format("process {} is a zombie, or its main thread has ended: the kernel gives no way to its descriptors", tgid), ENODEV};
  return Error{fmt::format("process {} has not got {} open", tgid, device.name), ENODEV};
}

Result<std::vector<HeldFd>> Owner::take() const {
  std::vector<HeldFd> held;
  for (const auto number : numbers_) {
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd_.get(), number, 0)));
    if (!fd) {
      if (errno == EBADF) continue;  // closed since
      if (errno == ESRCH) return ended(tgid_);
      if (errno == EPERM || errno == EACCES) return refused(proc_, tgid_);
      return errno_error(fmt::format("pidfd_getfd of process {}", tgid_), errno);
    }
    struct stat info {};
    if (fstat(fd.get(), &info) != 0 || !S_ISCHR(info.st_mode) || info.st_rdev != device_) continue;
    if (std::any_of(held.begin(), held.end(), [&](const HeldFd& other) { return same_file(other.fd.get(), fd.get()); })) continue;
    held.push_back({number, std::move(fd)});
  }
  if (held.empty()) return Error{fmt::format("process {} has closed {}", tgid_, device_name_), ENODEV};
  return held;
}

Result<void> Hold::refresh() {
  if (!fds_.empty() && Steady::now() - since_ < kLongest) return {};
  release();
  since_ = Steady::now();
  auto taken = owner_.take();
  if (!taken) return taken.error();
  fds_ = std::move(*taken);
  return {};
}

void Hold::release() {
  if (fds_.empty()) return;
  fds_.clear();
  longest_ = std::max<std::chrono::nanoseconds>(longest_, Steady::now() - since_);
}

int Hold::fd(int number) const {
  const auto found = std::find_if(fds_.begin(), fds_.end(), [&](const HeldFd& held) { return held.number == number; });
  return found == fds_.end() ? -1 : found->fd.get();
}

}  // namespace rdmend::hand
