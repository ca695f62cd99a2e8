// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.hpp"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "base/c_handle.hpp"
#include "support/temp_directory.hpp"
#include "support/virtual_reactor.hpp"

using namespace rdmend;
using namespace std::string_literals;
using journal::Journal;

namespace {

JournalEntry entry(const std::string& reason) {
  JournalEntry e;
  e.action = 7;
  e.at = Timestamp{milliseconds{1'700'000'000'123}};
  e.rule = "RdmaRnrNakStorm";
  e.alert = {{"alertname", "RdmaRnrNakStorm"}, {"device", "rxe2"}, {"port", "1"}};
  e.value = 412.5;
  e.kind = "raise_min_rnr_timer";
  e.target = "rxe2/1 qpn 17 (ib_send_bw, pid 812)";
  e.verdict = Verdict::succeeded;
  e.reason = reason;
  e.figures = {{"before", "code 1 (0.01 ms)"}, {"after", "code 4 (0.04 ms)"}};
  return e;
}

// Puts and waits until the journal says how it went.
bool put(test::VirtualReactor& loop, Journal& journal, const std::string& name, const std::string& text) {
  std::optional<bool> durable;
  journal.put(name, text, [&](bool ok) { durable = ok; });
  REQUIRE(loop.run_until([&] { return durable.has_value(); }));
  return *durable;
}

std::int64_t rows(const std::string& path) {
  sqlite3* raw = nullptr;
  REQUIRE(sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  const CHandle<sqlite3, sqlite3_close> file(raw);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(raw, "SELECT count(*) FROM entries", -1, &statement, nullptr) == SQLITE_OK);
  const CHandle<sqlite3_stmt, sqlite3_finalize> count(statement);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  return sqlite3_column_int64(statement, 0);
}

}  // namespace

TEST_CASE("what was written is there after a restart, and ids go on") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  std::uint64_t last = 0;
  {
    Journal journal(loop, directory.path());
    CHECK(journal.trouble().empty());
    CHECK(journal.recent(10).empty());
    CHECK(journal.append(entry("first")) == 1);
    CHECK(journal.reserve_id() == 2);
    last = journal.append(entry("second"));
    CHECK(last == 3);
    CHECK(put(loop, journal, "undo", R"({"due":1})"));
    CHECK(put(loop, journal, "undo", R"({"due":2})"));
    CHECK(put(loop, journal, "breaker", "open"));
    CHECK(journal.get("undo") == R"({"due":2})");
  }
  Journal journal(loop, directory.path());
  const auto recent = journal.recent(10);
  REQUIRE(recent.size() == 2);
  CHECK(recent[0].reason == "second");
  const auto& first = recent[1];
  const auto wanted = entry("first");
  CHECK(first.id == 1);
  CHECK(first.action == wanted.action);
  CHECK(first.at == wanted.at);
  CHECK(first.rule == wanted.rule);
  CHECK(first.alert == wanted.alert);
  CHECK(first.value == wanted.value);
  CHECK(first.kind == wanted.kind);
  CHECK(first.target == wanted.target);
  CHECK(first.verdict == wanted.verdict);
  CHECK(first.figures == wanted.figures);
  CHECK(journal.get("undo") == R"({"due":2})");
  CHECK(journal.get("breaker") == "open");
  CHECK(journal.get("never put").empty());
  CHECK(journal.append(entry("third")) == last + 1);
}

TEST_CASE("values and texts that a database could stumble over come back") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    auto odd = entry("a \"quoted\" ' line\nwith \xff bytes\0and a null"s);
    odd.value = std::nan("");
    odd.figures["\xc3\x28"] = "\xfe";
    journal.append(odd);
    auto huge = entry(std::string(100'000, 'x'));
    huge.value = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 200; ++i) huge.figures["figure " + std::to_string(i)] = std::string(20'000, 'y');
    journal.append(huge);
    CHECK(put(loop, journal, "name with ' quote", "text with ' quote"));
  }
  Journal journal(loop, directory.path());
  const auto recent = journal.recent(2);
  REQUIRE(recent.size() == 2);
  CHECK(std::isinf(recent[0].value));
  CHECK(recent[0].reason.size() == Journal::kMostText);
  CHECK(recent[0].figures.size() == 64);
  CHECK(recent[0].figures.rbegin()->second.size() == Journal::kMostText);
  CHECK(std::isnan(recent[1].value));
  CHECK(recent[1].reason == "a \"quoted\" ' line\nwith \xff bytes\0and a null"s);
  CHECK(recent[1].figures.size() == 3);
  CHECK(journal.get("name with ' quote") == "text with ' quote");
}

TEST_CASE("many lines at once share a few transactions, and the loop does not wait for them") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  Journal journal(loop, directory.path());
  for (int i = 0; i < 900; ++i) journal.append(entry("line " + std::to_string(i)));
  CHECK(journal.recent(1).front().reason == "line 899");
  CHECK(put(loop, journal, "undo", "x"));
  CHECK(rows(directory.file("rdmend.db")) == 900);
  // Were it a transaction a line, the queue of the worker would have had 900 jobs; two were enough.
  CHECK(loop.run_posted() == 0);
}

TEST_CASE("the journal is bounded, on disk and in memory") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  Journal journal(loop, directory.path());
  for (std::size_t i = 0; i < Journal::kMostEntries + 500; ++i) {
    journal.append(entry(std::to_string(i)));
    if (i % Journal::kRecent == 0) REQUIRE(put(loop, journal, "pace", std::to_string(i)));
  }
  REQUIRE(put(loop, journal, "pace", "end"));
  CHECK(rows(directory.file("rdmend.db")) == static_cast<std::int64_t>(Journal::kMostEntries));
  CHECK(journal.recent(1'000'000).size() == Journal::kRecent);
  CHECK(journal.recent(1).front().reason == std::to_string(Journal::kMostEntries + 499));
}

TEST_CASE("a broken file is set aside and a new one begun") {
  const test::TempDirectory directory;
  directory.write("rdmend.db", std::string(8192, 'Z'));
  directory.write("rdmend.db.broken-1", "an older one");
  test::VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    CHECK(journal.trouble().empty());
    CHECK(journal.append(entry("after")) == 1);
    CHECK(put(loop, journal, "undo", "x"));
  }
  CHECK(directory.read("rdmend.db.broken-1") == "an older one");
  CHECK(directory.read("rdmend.db.broken-2") == std::string(8192, 'Z'));
  CHECK(Journal(loop, directory.path()).recent(5).size() == 1);
}

TEST_CASE("a file whose pages were damaged is set aside, not believed") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    for (int i = 0; i < 500; ++i) journal.append(entry("line " + std::to_string(i)));
    REQUIRE(put(loop, journal, "undo", "x"));
  }
  {
    std::fstream file(directory.file("rdmend.db"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(3 * 4096, '\xa5');
  }
  Journal journal(loop, directory.path());
  CHECK(journal.trouble().empty());
  CHECK(journal.recent(5).empty());
  CHECK(journal.status().set_aside == 1);
  CHECK(std::filesystem::exists(directory.file("rdmend.db.broken-1")));
  CHECK(put(loop, journal, "undo", "y"));
}

TEST_CASE("a file that breaks while it is used is set aside, and what is due is written again") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  {
    Journal journal(loop, directory.path(), {310, Journal::kMostBytes});  // so that old pages are read, to be dropped
    REQUIRE(put(loop, journal, "undo", "due"));
    REQUIRE(put(loop, journal, "breaker", "open"));
    for (int i = 0; i < 300; ++i) journal.append(entry(std::string(8000, 'x')));  // more than SQLite keeps in its cache
    journal.flush(seconds{20});
    // Somebody else's accident: the tables' pages are overwritten in the file and in its log.
    for (const char* name : {"rdmend.db", "rdmend.db-wal"}) {
      const auto size = std::filesystem::file_size(directory.file(name));
      std::fstream file(directory.file(name), std::ios::in | std::ios::out | std::ios::binary);
      file << std::string(size, '\xa5');
    }
    bool replaced = false;
    for (int i = 0; i < 20 && !replaced; ++i) {
      journal.append(entry("more"));
      put(loop, journal, "mode", std::to_string(i));
      replaced = std::filesystem::exists(directory.file("rdmend.db.broken-1"));
    }
    REQUIRE(replaced);
    CHECK(put(loop, journal, "mode", "last"));
    CHECK(journal.trouble().empty());
  }
  Journal journal(loop, directory.path());
  CHECK(journal.get("undo") == "due");
  CHECK(journal.get("breaker") == "open");
  CHECK(journal.get("mode") == "last");
}

TEST_CASE("without a usable directory all goes on in memory and is said so") {
  const test::TempDirectory directory;
  directory.write("in the way", "a file");
  test::VirtualReactor loop;
  Journal journal(loop, directory.file("in the way"));
  CHECK(journal.trouble() == "decisions and undos are kept in memory only: opening " + directory.file("in the way") +
                                 "/rdmend.db: unable to open database file");
  CHECK(journal.unread());
  const auto first = journal.append(entry("one"));
  CHECK(journal.append(entry("two")) == first + 1);
  CHECK(journal.recent(5).size() == 2);
  CHECK_FALSE(put(loop, journal, "undo", "text"));
  CHECK(journal.get("undo") == "text");
  journal.flush(milliseconds{10});
}

TEST_CASE("a file of a newer rdmend is left alone") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  { const Journal journal(loop, directory.path()); }
  {
    sqlite3* raw = nullptr;
    REQUIRE(sqlite3_open(directory.file("rdmend.db").c_str(), &raw) == SQLITE_OK);
    const CHandle<sqlite3, sqlite3_close> file(raw);
    REQUIRE(sqlite3_exec(raw, "PRAGMA user_version=2", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  const Journal journal(loop, directory.path());
  CHECK(journal.trouble() == "decisions and undos are kept in memory only: " + directory.file("rdmend.db") +
                                 ": rdmend.db was written by a newer rdmend (schema 2, this one knows 1)");
  CHECK_FALSE(std::filesystem::exists(directory.file("rdmend.db.broken-1")));
}

TEST_CASE("flush writes what waits") {
  const test::TempDirectory directory;
  test::VirtualReactor loop;
  Journal journal(loop, directory.path());
  for (int i = 0; i < 100; ++i) journal.append(entry("line"));
  journal.put("undo", "x");
  journal.flush(seconds{10});
  CHECK(rows(directory.file("rdmend.db")) == 100);
}
