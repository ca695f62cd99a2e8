// SPDX-License-Identifier: Apache-2.0
// What only a process of its own can show: a kill at any point, and a disk that is full. The test starts itself again with
// one hidden test case, which tells its progress on a pipe.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "base/unique_fd.hpp"
#include "journal/journal.hpp"
#include "support/temp_directory.hpp"
#include "support/virtual_reactor.hpp"

using namespace rdmend;
using journal::Journal;

namespace {

constexpr const char* kDirectory = "RDMEND_TEST_JOURNAL";
constexpr const char* kPipe = "RDMEND_TEST_PIPE";

struct Child {
  pid_t pid = -1;
  UniqueFd progress;
};

Child start(const std::string& test, const std::string& directory) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  Child child{-1, UniqueFd(ends[0])};
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
  REQUIRE(posix_spawn(&child.pid, self.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

std::string directory_given() {
  const char* given = std::getenv(kDirectory);
  return given == nullptr ? "" : given;
}

void tell(std::uint32_t number) {
  REQUIRE(write(std::atoi(std::getenv(kPipe)), &number, sizeof number) == sizeof number);
}

bool put(test::VirtualReactor& loop, Journal& journal, const std::string& text) {
  std::optional<bool> durable;
  journal.put("undo", text, [&](bool ok) { durable = ok; });
  loop.run_until([&] { return durable.has_value(); });
  return durable.value_or(false);
}

}  // namespace

// Writes for ever, and tells each number only when put() called it durable.
TEST_CASE("child: writes until it is killed", "[.]") {
  if (directory_given().empty()) return;
  test::VirtualReactor loop;
  Journal journal(loop, directory_given());
  for (std::uint32_t i = 1;; ++i) {
    JournalEntry entry;
    entry.reason = std::to_string(i);
    journal.append(entry);
    REQUIRE(put(loop, journal, std::to_string(i)));
    tell(i);
  }
}

TEST_CASE("what was called durable survives kill -9 at any point") {
  const test::TempDirectory directory;
  for (std::uint32_t round = 1; round <= 8; ++round) {
    auto child = start("child: writes until it is killed", directory.path());
    std::uint32_t told = 0;
    std::uint32_t number = 0;
    while (told < 5 * round && read(child.progress.get(), &number, sizeof number) == sizeof number) told = number;
    kill(child.pid, SIGKILL);
    while (read(child.progress.get(), &number, sizeof number) == sizeof number) told = number;
    int status = 0;
    REQUIRE(waitpid(child.pid, &status, 0) == child.pid);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(told >= 5 * round);

    test::VirtualReactor loop;
    Journal journal(loop, directory.path());
    CHECK(journal.trouble().empty());
    CHECK_FALSE(std::filesystem::exists(directory.file("rdmend.db.broken-1")));
    CHECK(std::stoul(journal.get("undo")) >= told);
    REQUIRE_FALSE(journal.recent(1).empty());
    CHECK(std::stoul(journal.recent(1).front().reason) >= told);
  }
}

// Fills its "disk" (a limit on the size of its files), then gets room again.
TEST_CASE("child: runs out of disk", "[.]") {
  if (directory_given().empty()) return;
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{256UL * 1024, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  test::VirtualReactor loop;
  Journal journal(loop, directory_given());
  std::uint32_t failed_at = 0;
  for (std::uint32_t i = 1; i < 2000 && failed_at == 0; ++i) {
    JournalEntry entry;
    entry.reason = std::string(4000, 'x');
    journal.append(entry);
    if (!put(loop, journal, std::to_string(i))) failed_at = i;
  }
  REQUIRE(failed_at > 1);
  REQUIRE(journal.trouble().rfind("decisions and undos are not written: ", 0) == 0);
  REQUIRE(journal.get("undo") == std::to_string(failed_at));  // goes on in memory
  limit.rlim_cur = RLIM_INFINITY;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  loop.advance(seconds{11});  // it tries again by itself
  REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
  REQUIRE(put(loop, journal, "room again"));
  tell(failed_at);
}

TEST_CASE("a full disk is said, and what could not be written is written when there is room") {
  const test::TempDirectory directory;
  auto child = start("child: runs out of disk", directory.path());
  std::uint32_t failed_at = 0;
  const bool told = read(child.progress.get(), &failed_at, sizeof failed_at) == sizeof failed_at;
  int status = 0;
  REQUIRE(waitpid(child.pid, &status, 0) == child.pid);
  REQUIRE(told);
  CHECK(status == 0);
  test::VirtualReactor loop;
  const Journal journal(loop, directory.path());
  CHECK(journal.get("undo") == "room again");
  CHECK(journal.recent(2000).size() == failed_at);
}
