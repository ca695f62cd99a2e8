// SPDX-License-Identifier: Apache-2.0
#include "rdmend/processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.hpp"

namespace rdmend::daemon {
namespace {

// The input as a file of its own: whatever its length, nobody has to feed the child.
Result<UniqueFd> input_file(const std::string& text) {
  UniqueFd file(memfd_create("rdmend-hook-input", MFD_CLOEXEC));
  if (!file) return errno_error("memfd_create", errno);
  for (std::size_t done = 0; done < text.size();) {
    const auto count = write(file.get(), text.data() + done, text.size() - done);
    if (count <= 0) return errno_error("writing the hook's input", errno);
    done += static_cast<std::size_t>(count);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return errno_error("rewinding the hook's input", errno);
  return file;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Attributes and actions of one posix_spawn, freed with it.
struct Spawn {
  Spawn() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

// Nothing of ours reaches the hook: neither descriptors nor the environment, nor the directory that we stand in.
Result<pid_t> spawn(std::vector<std::string>& argv, std::vector<std::string>& environment, int input, int output) {
  Spawn with;
  posix_spawn_file_actions_adddup2(&with.actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&with.actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&with.actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&with.actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&with.actions, "/");
  pid_t pid = -1;
  const int code = posix_spawn(&pid, argv.front().c_str(), &with.actions, &with.attributes, pointers(argv).data(), pointers(environment).data());
  if (code != 0) return errno_error(argv.front(), code);
  return pid;
}

}  // namespace

struct ChildProcesses::Child {
  std::uint64_t id = 0;
  pid_t pid = -1;
  UniqueFd pidfd, output;
  Exit exit;
  std::function<void(Exit)> done;
  Reactor::Handle on_exit, on_output, on_deadline;

  // The leader is not reaped before finish(), so that its number, and with it the group's, cannot be another's.
  void kill_group() const { ::kill(-pid, SIGKILL); }
};

ChildProcesses::ChildProcesses(Reactor& reactor) : reactor_(reactor) {}

ChildProcesses::~ChildProcesses() {
  for (auto& [id, child] : children_) {
    child->kill_group();
    waitpid(child->pid, nullptr, WNOHANG);
  }
}

void ChildProcesses::run(std::vector<std::string> argv, std::vector<std::string> environment, std::string standard_input,
                         milliseconds deadline, std::function<void(Exit)> done) {
  const auto refuse = [&](std::string why) { reactor_.post([done, why = std::move(why)] { done({-1, false, {}, why}); }); };
  if (argv.empty()) return refuse("there is no command");
  if (children_.size() >= kMostAtOnce) return refuse("too many hooks run already");
  auto input = input_file(standard_input);
  if (!input) return refuse(input.error().message);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return refuse(errno_error("pipe", errno).message);
  auto child = std::make_unique<Child>();
  child->output.reset(ends[0]);
  const UniqueFd write_end(ends[1]);
  fcntl(child->output.get(), F_SETFL, O_NONBLOCK);
  auto pid = spawn(argv, environment, input->get(), write_end.get());
  if (!pid) return refuse(pid.error().message);
  child->pid = *pid;
  child->pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (!child->pidfd) {
    const auto why = errno_error("pidfd_open", errno).message;
    child->kill_group();
    waitpid(*pid, nullptr, 0);
    return refuse(why);
  }
  child->id = ++next_id_;
  child->done = std::move(done);
  auto& ref = *child;
  ref.on_exit = reactor_.watch(ref.pidfd.get(), {true, false}, [this, id = ref.id](Reactor::Ready) { finish(id); });
  ref.on_output = reactor_.watch(ref.output.get(), {true, false}, [this, &ref](Reactor::Ready) { drain(ref); });
  ref.on_deadline = reactor_.after(deadline, [&ref] {
    ref.exit.timed_out = true;
    ref.kill_group();  // its end is then seen as any other
  });
  children_[ref.id] = std::move(child);
}

// Reads what is there; a bounded part is kept, and a bounded part is read a turn of the loop.
void ChildProcesses::drain(Child& child) {
  std::array<char, 4096> buffer{};
  for (int turn = 0; turn < 16; ++turn) {
    const auto count = read(child.output.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      child.on_output.reset();
      return;
    }
    const auto room = kMostOutput - child.exit.output.size();
    child.exit.output.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  }
}

void ChildProcesses::finish(std::uint64_t id) {
  const auto at = children_.find(id);
  if (at == children_.end()) return;
  const auto child = std::move(at->second);
  children_.erase(at);
  drain(*child);
  child->kill_group();
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child->pid), &info, WEXITED | WNOHANG) == 0 && info.si_pid == child->pid)
    child->exit.status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
  else
    child->exit.error = "its exit status was lost";
  child->done(std::move(child->exit));
}

}  // namespace rdmend::daemon
