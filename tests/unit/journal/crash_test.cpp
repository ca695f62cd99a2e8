// SPDX-License-Identifier: Apache-2.0
// kill -9 at any call that changes a file. The child keeps a journal as a busy rdmend would, and tells each round that was
// called durable; where it ends is drawn from a seed, which RDMEND_SEED sets.
#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "support/temp_directory.hpp"
#include "unit/journal/child_process.hpp"
#include "unit/journal/system_calls.hpp"

using namespace rdmend;
using namespace rdmend::test;
using journal::Journal;

namespace {

constexpr const char* kPoint = "RDMEND_TEST_POINT";  // "kind count moment"; "" lets the child live, and tell its calls
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint32_t kPoints = 50;  // whose time it is
#else
constexpr std::uint32_t kPoints = 200;
#endif
constexpr std::uint32_t kSurvey = 15;  // rounds
constexpr std::uint32_t kEntries = 3;  // a round
constexpr Journal::Size kSize{60, std::uint64_t{96} << 10U};

// A text that shows whether it is whole, and its round.
std::string text_of(std::uint32_t round) {
  const auto number = std::to_string(round);
  return number + " " + std::string(round * 397 % 3000, 'x') + " " + number;
}
std::uint32_t round_of(const std::string& text) { return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10)); }

void one_round(VirtualReactor& loop, Journal& journal, std::uint32_t round) {
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    JournalEntry entry;
    entry.reason = text_of(round);
    journal.append(entry);
  }
  journal.put("hold_downs", text_of(round));
  journal.put("for_state", text_of(round));
  REQUIRE(put_and_wait(loop, journal, "undo", text_of(round)));
}

// A journal with an undo that is due, and with decisions that can no longer be read.
void leave_damaged(const TempDirectory& directory) {
  VirtualReactor loop;
  {
    Journal journal(loop, directory.path());
    REQUIRE(put_and_wait(loop, journal, "undo", "0 due 0"));
    for (int i = 0; i < 100; ++i) journal.append({0, 0, {}, "R", {}, 1, "kind", "target", Verdict::refused, std::string(500, 'x'), {}});
    journal.flush(seconds{20});
  }
  const auto size = std::filesystem::file_size(directory.file("rdmend.db"));
  std::fstream file(directory.file("rdmend.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - 5 * 4096));
  file << std::string(std::size_t{5} * 4096, '\xa5');
}

struct Killed {
  std::uint32_t told = 0;
  bool killed = false;
};

Killed run_child(const std::string& directory, Call kind, std::uint32_t count, Moment moment) {
  setenv(kPoint, (std::to_string(static_cast<int>(kind)) + " " + std::to_string(count) + " " + std::to_string(static_cast<int>(moment))).c_str(), 1);
  const JournalChild child("child: keeps a journal until it is killed", directory);
  Killed out;
  while (const auto round = child.next()) out.told = *round;
  const int status = child.wait();
  out.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return out;
}

std::array<std::uint32_t, kCalls> survey(bool damaged) {
  const TempDirectory directory;
  if (damaged) leave_damaged(directory);
  setenv(kPoint, "", 1);
  const JournalChild child("child: keeps a journal until it is killed", directory.path());
  for (std::uint32_t round = 1; round <= kSurvey; ++round) REQUIRE(child.next() == round);
  std::array<std::uint32_t, kCalls> counts{};
  for (auto& count : counts) count = child.next().value_or(0);
  REQUIRE(child.wait() == 0);
  return counts;
}

void check_document(const Journal& journal, const char* name, std::uint32_t told) {
  const auto text = journal.get(name);
  const auto round = round_of(text);
  INFO(name << ": " << text.substr(0, 20));
  CHECK((round == told || round == told + 1));
  if (round > 0) CHECK(text == text_of(round));
}

void check_what_is_left(const TempDirectory& directory, std::uint32_t told, bool damaged) {
  VirtualReactor loop;
  Journal journal(loop, directory.path(), kSize);
  CHECK(journal.trouble().empty());
  CHECK((damaged || !std::filesystem::exists(directory.file("rdmend.db.broken-1"))));
  for (const char* name : {"undo", "hold_downs", "for_state"}) check_document(journal, name, told);
  if (damaged && told == 0) CHECK_FALSE(journal.get("undo").empty());
  std::uint64_t last = ~0ULL;
  std::uint32_t of_last_round = 0;
  for (const auto& entry : journal.recent(1000)) {
    CHECK(entry.id < last);
    last = entry.id;
    if (entry.kind == "kind") continue;  // of before
    CHECK(entry.reason == text_of(round_of(entry.reason)));
    of_last_round += round_of(entry.reason) == told ? 1 : 0;
  }
  if (told > 0) CHECK(of_last_round == kEntries);
  CHECK(journal.status().entries <= kSize.entries);
  one_round(loop, journal, told + 2);  // and it goes on
}

}  // namespace

TEST_CASE("child: keeps a journal until it is killed", "[.]") {
  if (directory_given().empty()) return;
  std::istringstream point(std::getenv(kPoint));
  int kind = 0;
  int moment = 0;
  std::uint32_t count = 0;
  const bool dies = static_cast<bool>(point >> kind >> count >> moment);
  kill_at(static_cast<Call>(kind), count, static_cast<Moment>(moment));
  VirtualReactor loop;
  auto journal = std::make_unique<Journal>(loop, directory_given(), kSize);
  for (std::uint32_t round = 1; round <= (dies ? 20 * kSurvey : kSurvey); ++round) {
    if (round % 5 == 0) {  // a stop and a start in good order, which empties and removes the log
      journal.reset();
      journal = std::make_unique<Journal>(loop, directory_given(), kSize);
    }
    one_round(loop, *journal, round);
    tell(round);
  }
  for (int one = 0; one < kCalls; ++one) tell(calls(static_cast<Call>(one)));
}

TEST_CASE("what was called durable survives kill -9 at each of 200 points (50 under a sanitizer) drawn from a seed") {
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);  // a kill does not empty the page cache: a disk shows no more
  const char* given = std::getenv("RDMEND_SEED");
  const auto seed = given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  std::fprintf(stderr, "RDMEND_SEED=%u\n", seed);
  INFO("RDMEND_SEED=" << seed);
  std::mt19937 draw(seed);
  const std::array counts{survey(false), survey(true)};
  std::array<std::uint32_t, kCalls> ends{};
  for (std::uint32_t point = 0; point < kPoints; ++point) {
    const bool damaged = point % 4 == 3;
    auto kind = static_cast<std::uint32_t>(draw()) % kCalls;
    while (counts[damaged ? 1 : 0][kind] == 0) kind = (kind + 1) % kCalls;
    const auto count = 1 + static_cast<std::uint32_t>(draw()) % counts[damaged ? 1 : 0][kind];
    const auto moment = static_cast<Moment>(draw() % 3);
    INFO("point " << point << ": call " << kind << " number " << count << ", moment " << static_cast<int>(moment) << (damaged ? ", damaged" : ""));
    const TempDirectory directory;
    if (damaged) leave_damaged(directory);
    const auto end = run_child(directory.path(), static_cast<Call>(kind), count, moment);
    REQUIRE(end.killed);
    ++ends[kind];
    check_what_is_left(directory, end.told, damaged);
  }
  unsetenv("TMPDIR");
  for (const auto count : ends) CHECK(count > 0);  // of each kind of call
}
