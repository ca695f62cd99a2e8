// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"
#include "journal/journal.hpp"
#include "support/virtual_reactor.hpp"

// A test starts its own program again with one hidden test case, which tells its progress on a pipe.
namespace rdmend::test {

inline constexpr const char* kDirectory = "RDMEND_TEST_JOURNAL";
inline constexpr const char* kPipe = "RDMEND_TEST_PIPE";

struct JournalChild {
  pid_t pid = -1;
  UniqueFd progress;

  JournalChild(const std::string& test, const std::string& directory) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    progress = UniqueFd(ends[0]);
    const UniqueFd write_end(ends[1]);
    setenv(kDirectory, directory.c_str(), 1);
    setenv(kPipe, std::to_string(ends[1]).c_str(), 1);
    std::string self = std::filesystem::read_symlink("/proc/self/exe");
    std::string name = test;
    std::array<char*, 3> argv{self.data(), name.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    REQUIRE(posix_spawn(&pid, self.c_str(), &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  // The next number that it told; nullopt when it has ended.
  [[nodiscard]] std::optional<std::uint32_t> next() const {
    std::uint32_t number = 0;
    if (read(progress.get(), &number, sizeof number) != sizeof number) return std::nullopt;
    return number;
  }
  // waitpid's status.
  [[nodiscard]] int wait() const {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return status;
  }
};

inline std::string directory_given() {
  const char* given = std::getenv(kDirectory);
  return given == nullptr ? "" : given;
}

inline void tell(std::uint32_t number) { REQUIRE(write(std::atoi(std::getenv(kPipe)), &number, sizeof number) == sizeof number); }

// Puts and waits until the journal says how it went.
inline bool put_and_wait(VirtualReactor& loop, journal::Journal& journal, const std::string& name, const std::string& text) {
  std::optional<bool> durable;
  journal.put(name, text, [&](bool ok) { durable = ok; });
  loop.run_until([&] { return durable.has_value(); });
  return durable.value_or(false);
}

}  // namespace rdmend::test
