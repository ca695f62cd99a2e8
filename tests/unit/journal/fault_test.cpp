// SPDX-License-Identifier: Apache-2.0
// Disks that are full, read-only, failing or hanging: it goes on, says so once, and heals by itself.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/log.hpp"
#include "support/temp_directory.hpp"
#include "unit/journal/child_process.hpp"
#include "unit/journal/system_calls.hpp"

using namespace rdmend;
using namespace rdmend::test;
using journal::Journal;

namespace {

JournalEntry line(const std::string& reason, Timestamp at = {}) { return {0, 0, at, "R", {}, 1, "kind", "target", Verdict::refused, reason, {}}; }

std::vector<JournalEntry> history(VirtualReactor& loop, Journal& journal, Timestamp since, std::size_t most) {
  std::optional<std::vector<JournalEntry>> out;
  journal.history(since, most, [&](std::vector<JournalEntry> entries) { out = std::move(entries); });
  REQUIRE(loop.run_until([&] { return out.has_value(); }));
  return *out;
}

}  // namespace

TEST_CASE("a disk that fails is said, and what could not be written is written once it is well") {
  const int error = GENERATE(ENOSPC, EROFS, EIO, EDQUOT);
  INFO(std::strerror(error));
  const TempDirectory directory;
  VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    REQUIRE(put_and_wait(loop, journal, "undo", "before"));
    fail_calls(error);
    for (int i = 0; i < 20; ++i) journal.append(line("line " + std::to_string(i)));
    CHECK_FALSE(put_and_wait(loop, journal, "undo", "meanwhile"));
    CHECK(journal.trouble().rfind("decisions and undos are not written: ", 0) == 0);
    CHECK(journal.status().errors == 1);
    for (int i = 0; i < 3; ++i) {
      CHECK_FALSE(put_and_wait(loop, journal, "undo", "later"));  // answered, though nothing is tried before its time
      loop.advance(seconds{11});
      REQUIRE(loop.run_until([&] { return journal.status().errors == 2U + static_cast<unsigned>(i); }));
    }
    fail_calls(0);
    loop.advance(seconds{11});
    REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
    CHECK(put_and_wait(loop, journal, "breaker", "open"));
    CHECK(journal.status().lost == 0);
    CHECK(journal.status().entries == 20);
  }
  const Journal journal(loop, directory.path());
  CHECK(journal.get("undo") == "later");
  CHECK(journal.get("breaker") == "open");
  CHECK(journal.recent(100).size() == 20);
}

TEST_CASE("what waits for a disk that is full is bounded: the oldest are lost, and counted; documents are not") {
  const TempDirectory directory;
  VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    REQUIRE(put_and_wait(loop, journal, "undo", "before"));
    fail_calls(ENOSPC);
    REQUIRE_FALSE(put_and_wait(loop, journal, "undo", "due"));
    for (std::size_t i = 0; i < 3 * Journal::kRecent; ++i) journal.append(line(std::to_string(i)));
    CHECK(journal.status().lost == 2 * Journal::kRecent);
    for (std::size_t i = 0; i < Journal::kRecent; ++i) journal.append(line(std::string(Journal::kMostText, 'x')));
    CHECK(journal.status().lost > 2 * Journal::kRecent);
    std::size_t bytes = 0;
    for (const auto& entry : journal.recent(Journal::kRecent)) bytes += entry.reason.size();
    CHECK(bytes <= Journal::kMostRecentBytes);
    fail_calls(0);
    loop.advance(seconds{11});
    REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
  }
  CHECK(Journal(loop, directory.path()).get("undo") == "due");
}

TEST_CASE("a disk that hangs is trouble too, and hinders nobody") {
  const TempDirectory directory;
  VirtualReactor loop;
  Journal journal(loop, directory.path());
  REQUIRE(put_and_wait(loop, journal, "undo", "before"));
  hold_calls(true);
  std::optional<bool> durable;
  journal.put("undo", "due", [&](bool ok) { durable = ok; });
  journal.append(line("meanwhile"));
  loop.advance(seconds{9});
  CHECK(journal.trouble().empty());
  loop.advance(seconds{2});
  CHECK(journal.trouble() == "decisions and undos are not written: the disk does not answer");
  CHECK_FALSE(durable.has_value());
  CHECK(history(loop, journal, {}, 10).size() == 1);
  hold_calls(false);
  REQUIRE(loop.run_until([&] { return durable.has_value(); }));
  CHECK(*durable);
  CHECK(journal.trouble().empty());
}

TEST_CASE("the journal is bounded in bytes: the oldest decisions go, and are counted; what is due stays") {
  const TempDirectory directory;
  VirtualReactor loop;
  constexpr std::uint64_t kBytes = std::uint64_t{256} << 10U;
  const std::string due(100'000, 'u');
  {
    Journal journal(loop, directory.path(), {100'000, kBytes});
    REQUIRE(put_and_wait(loop, journal, "undo", due));
    for (int i = 0; i < 1000; ++i) {
      journal.append(line(std::to_string(i) + std::string(1000, 'x')));
      if (i % 50 == 0) REQUIRE(put_and_wait(loop, journal, "hold_downs", std::to_string(i)));
    }
    REQUIRE(put_and_wait(loop, journal, "hold_downs", "end"));
    const auto status = journal.status();
    CHECK(status.bytes <= kBytes);
    CHECK(status.entries >= 50);
    CHECK(status.dropped == 1000 - status.entries);
    CHECK(status.lost == 0);
    CHECK(history(loop, journal, {}, 10'000).size() == 1000);  // memory still knows them
  }
  CHECK(std::filesystem::file_size(directory.file("rdmend.db")) < 2 * kBytes);
  Journal journal(loop, directory.path(), {100'000, kBytes});
  CHECK(journal.get("undo") == due);
  CHECK(journal.recent(1).front().reason.rfind("999x", 0) == 0);
  REQUIRE(put_and_wait(loop, journal, "undo", std::string(kBytes, 'u')));  // documents alone may be more than the bound
  CHECK(journal.status().entries == 0);
}

TEST_CASE("the history reaches back to what memory has no more, as far as was asked") {
  const TempDirectory directory;
  VirtualReactor loop;
  Journal journal(loop, directory.path());
  const auto at = [](int i) { return Timestamp{seconds{1'700'000'000 + i}}; };
  for (int i = 0; i < 1500; ++i) {
    journal.append(line(std::to_string(i), at(i)));
    if (i % 500 == 0) REQUIRE(put_and_wait(loop, journal, "pace", "x"));
  }
  CHECK(history(loop, journal, {}, 10'000).size() == 1500);
  const auto some = history(loop, journal, at(100), 10'000);
  REQUIRE(some.size() == 1400);
  CHECK(some.front().reason == "1499");
  CHECK(some.back().reason == "100");
  CHECK(history(loop, journal, at(100), 7).size() == 7);
  CHECK(history(loop, journal, at(1500), 7).empty());
}

TEST_CASE("an id that an action had is given to no other after a restart") {
  const TempDirectory directory;
  VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    REQUIRE(journal.reserve_id() == 1);
    REQUIRE(put_and_wait(loop, journal, "undo", "of action 1"));
  }
  CHECK(Journal(loop, directory.path()).reserve_id() == 2);
}

// In a mount namespace of its own; whoever may not have one leaves without a word, and so does who is in a chroot, where no mount can be kept
// from the others: "/" is none there.
TEST_CASE("child: finds its disk read-only", "[.]") {
  if (directory_given().empty()) return;
  const char* where = std::getenv(kDirectory);
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return tell(2);
  REQUIRE(mount(where, where, nullptr, MS_BIND, nullptr) == 0);
  REQUIRE(mount("none", where, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0);
  VirtualReactor loop;
  Journal journal(loop, where);
  CHECK(journal.trouble().rfind("decisions and undos are kept in memory only: " + std::string(where) + "/rdmend.db: ", 0) == 0);
  CHECK(journal.get("undo") == "due");
  CHECK(journal.recent(5).size() == 1);
  CHECK_FALSE(put_and_wait(loop, journal, "breaker", "open"));
  journal.append(line("meanwhile"));
  loop.advance(seconds{11});
  REQUIRE(loop.run_until([&] { return journal.status().errors == 2; }));
  REQUIRE(mount("none", where, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0);
  loop.advance(seconds{11});
  REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
  CHECK(put_and_wait(loop, journal, "mode", "act"));
  tell(1);
}

TEST_CASE("what is due is known though the disk is read-only from the start") {
  const bool was_killed = GENERATE(false, true);
  INFO("was killed: " << was_killed);
  const TempDirectory directory;
  const TempDirectory copy;
  VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    journal.append(line("before"));
    REQUIRE(put_and_wait(loop, journal, "undo", "due"));
    for (const auto& file : std::filesystem::directory_iterator(directory.path()))  // as a kill would leave it
      std::filesystem::copy(file.path(), copy.file(file.path().filename()));
  }
  const auto& path = was_killed ? copy.path() : directory.path();
  REQUIRE(std::filesystem::exists(path + "/rdmend.db-wal") == was_killed);
  const JournalChild child("child: finds its disk read-only", path);
  const auto told = child.next();
  CHECK(child.wait() == 0);
  REQUIRE(told.has_value());
  if (*told == 2) {
    WARN("no mount namespace is granted here: nothing was tried");
    return;
  }
  const Journal journal(loop, path);
  CHECK(journal.get("undo") == "due");
  CHECK(journal.get("breaker") == "open");
  CHECK(journal.recent(5).size() == 2);
}

// Fills its "disk" (a limit on the size of its files), then gets room again.
TEST_CASE("child: runs out of disk", "[.]") {
  if (directory_given().empty()) return;
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{256UL * 1024, RLIM_INFINITY};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  VirtualReactor loop;
  Journal journal(loop, directory_given());
  std::uint32_t failed_at = 0;
  for (std::uint32_t i = 1; i < 2000 && failed_at == 0; ++i) {
    journal.append(line(std::string(4000, 'x')));
    if (!put_and_wait(loop, journal, "undo", std::to_string(i))) failed_at = i;
  }
  REQUIRE(failed_at > 1);
  REQUIRE(journal.trouble().rfind("decisions and undos are not written: ", 0) == 0);
  REQUIRE(journal.get("undo") == std::to_string(failed_at));  // goes on in memory
  limit.rlim_cur = RLIM_INFINITY;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  loop.advance(seconds{11});  // it tries again by itself
  REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
  REQUIRE(put_and_wait(loop, journal, "undo", "room again"));
  tell(failed_at);
}

TEST_CASE("a file that may not grow is said, and what could not be written is written when it may") {
  const TempDirectory directory;
  const JournalChild child("child: runs out of disk", directory.path());
  const auto failed_at = child.next();
  CHECK(child.wait() == 0);
  REQUIRE(failed_at.has_value());
  VirtualReactor loop;
  const Journal journal(loop, directory.path());
  CHECK(journal.get("undo") == "room again");
  CHECK(journal.recent(2000).size() == *failed_at);
}

TEST_CASE("a file that cannot be read at start is taken up as soon as it can be, before anything is written to it") {
  const TempDirectory directory;
  const TempDirectory elsewhere;
  VirtualReactor loop;
  std::uint64_t last = 0;
  {
    Journal journal(loop, directory.path());
    journal.append(line("before"));
    last = journal.append(line("before too"));
    REQUIRE(put_and_wait(loop, journal, "undo", "due"));
    REQUIRE(put_and_wait(loop, journal, "mode", "act"));
  }
  const auto file = directory.file("rdmend.db");
  std::filesystem::rename(file, elsewhere.file("rdmend.db"));
  std::filesystem::create_directory(file);
  {
    Journal journal(loop, directory.path());
    CHECK(journal.unread());
    CHECK(journal.trouble().rfind("decisions and undos are kept in memory only: ", 0) == 0);
    CHECK(journal.append(line("meanwhile")) > last + 1'000'000);
    CHECK_FALSE(put_and_wait(loop, journal, "mode", "observe"));
    loop.advance(seconds{11});
    REQUIRE(loop.run_until([&] { return journal.status().errors == 2; }));
    CHECK(journal.unread());

    std::filesystem::remove(file);
    std::filesystem::rename(elsewhere.file("rdmend.db"), file);
    loop.advance(seconds{11});
    REQUIRE(loop.run_until([&] { return journal.trouble().empty(); }));
    CHECK_FALSE(journal.unread());
    CHECK(journal.get("undo") == "due");
    CHECK(journal.get("mode") == "observe");
    CHECK(journal.recent(9).size() == 3);
    CHECK(put_and_wait(loop, journal, "breaker", "open"));
  }
  const Journal journal(loop, directory.path());
  CHECK_FALSE(journal.unread());
  CHECK(journal.get("undo") == "due");
  CHECK(journal.get("mode") == "observe");
  REQUIRE(journal.recent(9).size() == 3);
  CHECK(journal.recent(1)[0].reason == "meanwhile");
}
