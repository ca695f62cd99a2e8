// SPDX-License-Identifier: Apache-2.0
// The hand while what it works on is taken away: QPs that are destroyed, an owner and a hand that are killed.
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "e2e/hand_bench.hpp"
#include "verbs/uverbs_ioctl.hpp"

using namespace rdmend;
using namespace rdmend::test;

namespace {

// "churned 10000 ebusy 3 tries 1 us 40 failed 0", summed up over several lines.
struct Churn {
  int destroyed = 0, ebusy = 0, most_tries = 0, longest_us = 0, failed = 0;
  void add(const std::string& line) {
    int count = 0, busy = 0, tries = 0, us = 0, bad = 0;
    REQUIRE(std::sscanf(line.c_str(), "churned %d ebusy %d tries %d us %d failed %d", &count, &busy, &tries,
                        &us, &bad) == 5);
    destroyed += count;
    ebusy += busy;
    failed += bad;
    most_tries = std::max(most_tries, tries);
    longest_us = std::max(longest_us, us);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(destroyed) + " destroys, EBUSY " + std::to_string(ebusy) + " times, at most " +
           std::to_string(most_tries) + " in a row for " + std::to_string(longest_us) + " us, " +
           std::to_string(failed) + " failed";
  }
};

}  // namespace

TEST_CASE("ten thousand destroys against the hand: each succeeds on plain retry") {
  HandBench bench;
  QpOwner owner("main", 20);
  owner.say("churn 10000");
  Churn churn;
  bool churning = true;
  std::size_t asked = 0, read = 0, changed = 0, refused = 0;
  // The hand is kept busy without a pause for as long as the owner destroys and makes, and the owner for as
  // long as it takes fifty requests.
  while (churning) {
    const bool change = asked % 2 == 1;
    std::set<std::uint32_t> everything;
    for (const auto& qp : bench.listed("rxe1")) everything.insert(qp.qpn);
    auto request = bench.about("rxe1", everything, change ? Kind::modify_min_rnr_timer : Kind::query);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = 19;
    const auto reply = bench.must(request);
    ++asked;
    for (const auto& qp : reply.qps) {
      read += qp.before && !change ? 1 : 0;
      changed += qp.after ? 1 : 0;
      refused += qp.error.empty() ? 0 : 1;
    }
    if (const auto said = owner.read_line(0s); said != "(silence)") {
      churn.add(said);
      churning = asked < 50;
      if (churning) owner.say("churn 1000");
    }
  }
  figure("against the hand: " + churn.text());
  figure("meanwhile: " + std::to_string(asked) + " requests, " + std::to_string(read) + " QPs read, " +
         std::to_string(changed) + " changed, " + std::to_string(refused) + " gone or not to be told; held " +
         ms(bench.held) + " at most");
  CHECK(churn.failed == 0);
  CHECK(read > 0);
  CHECK(changed > 0);
  CHECK(owner.tell("destroy").ends_with(" failed 0"));
}

TEST_CASE("ten thousand destroys against the worst there could be: a hand that reads without a pause") {
  HandBench bench;
  QpOwner owner("main", 20);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, owner.pid(), 0)));
  std::vector<UniqueFd> copies;
  for (int number = 3; number < 64; ++number) {
    UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
    struct stat info {};
    if (copy && fstat(copy.get(), &info) == 0 && S_ISCHR(info.st_mode) &&
        info.st_rdev == bench.devices.at("rxe1").number)
      copies.push_back(std::move(copy));
  }
  REQUIRE(copies.size() == 1);
  const verbs::Uverbs uverbs{copies[0].get(), bench.devices.at("rxe1").driver_id};
  std::vector<std::uint32_t> handles;
  for (std::uint32_t handle = 0; handle < 100; ++handle)
    if (verbs::query_qp(uverbs, handle)) handles.push_back(handle);
  REQUIRE(handles.size() == 20);
  std::atomic<bool> going = true;
  std::size_t reads = 0, busy = 0;
  const auto began = Steady::now();
  std::thread reader([&] {
    while (going)
      for (const auto handle : handles) {
        const auto seen = verbs::query_qp(uverbs, handle);
        reads += seen ? 1 : 0;
        busy += !seen && seen.error().code == EBUSY ? 1 : 0;
      }
  });
  Churn churn;
  churn.add(owner.tell("churn 10000"));
  going = false;
  reader.join();
  const auto took = static_cast<std::uint64_t>((Steady::now() - began).count());
  figure("against a loop that reads without a pause: " + churn.text());
  figure("meanwhile: " + std::to_string(reads) + " reads, one in " +
         std::to_string(took / 1000 / std::max<std::size_t>(reads, 1)) + " us; " + std::to_string(busy) +
         " of them met a destroy");
  CHECK(churn.failed == 0);
  CHECK(churn.destroyed == 10'000);
  CHECK(reads > 1000);
  copies.clear();
  CHECK(owner.tell("destroy").ends_with(" failed 0"));
}

TEST_CASE("the owner may be killed at any point of a batch") {
  HandBench bench;
  std::mt19937 random(61);  // NOLINT(cert-msc51-cpp): the same points each run
  std::map<std::string, int> ends;
  std::chrono::microseconds whole{0};
  constexpr std::size_t kQps = 100;
  for (int round = 0; round < 20; ++round) {
    QpOwner owner(round % 2 == 0 ? "main" : "ended", kQps);
    auto request = bench.about("rxe1", HandBench::all(owner, "rxe1"), Kind::modify_min_rnr_timer);
    REQUIRE(request.qps.size() == kQps);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = 21;
    if (round == 0) {  // how long it takes undisturbed: the blows fall within that
      const auto began = Steady::now();
      CHECK(count_errors(bench.must(request)).empty());
      whole = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - began);
    }
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    bench.client.request(request, 20s,
                         [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    const auto strike = Steady::now() + whole * (random() % 1000) / 1000;
    std::this_thread::sleep_until(strike);  // the hand works by itself meanwhile
    owner.end();
    REQUIRE(bench.loop.run_until([&] { return answer->has_value(); }, 30s));
    REQUIRE(**answer);
    const auto done = std::count_if((**answer)->qps.begin(), (**answer)->qps.end(),
                                    [](const auto& qp) { return qp.error.empty(); });
    ++ends[done == kQps ? "all done" : done == 0 ? "none" : "some"];
    CHECK(uverbs_held_by(bench.client.child()) == 0);
    // Nothing keeps what the dead process had.
    const auto none_left = [&] { return bench.about("rxe1", HandBench::all(owner, "rxe1")).qps.empty(); };
    CHECK(bench.loop.run_until(none_left, 5s));
  }
  figure("owner killed 20 times during a batch: all done " + std::to_string(ends["all done"]) + ", some " +
         std::to_string(ends["some"]) + ", none " + std::to_string(ends["none"]));
}

TEST_CASE("the hand may be killed at any point of a batch") {
  HandBench bench;
  QpOwner owner("main", 60);
  std::mt19937 random(62);  // NOLINT(cert-msc51-cpp)
  const auto all = HandBench::all(owner, "rxe1");
  int unanswered = 0;
  auto first = bench.about("rxe1", all, Kind::modify_min_rnr_timer);
  for (auto& qp : first.qps) qp.new_min_rnr_timer = 30;
  const auto began = Steady::now();
  CHECK(count_errors(bench.must(first)).empty());
  const auto whole = Steady::now() - began;
  for (int round = 0; round < 20; ++round) {
    bench.must(bench.about("rxe1", {}, Kind::probe));  // an answer resets the back-off
    auto request = bench.about("rxe1", all, Kind::modify_min_rnr_timer);
    const auto code = static_cast<std::uint8_t>(1 + round);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = code;
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    const auto child = bench.client.child();
    bench.client.request(request, 20s,
                         [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    const auto strike = Steady::now() + whole * (random() % 1000) / 1000;
    std::this_thread::sleep_until(strike);
    kill(child, SIGKILL);
    REQUIRE(bench.loop.run_until([&] { return answer->has_value(); }, 30s));
    if (!**answer) {
      CHECK((*answer)->error().message == "rdmend-hand was killed by signal 9 (Killed)");
      ++unanswered;
    }
    REQUIRE(bench.loop.run_until(
        [&] { return bench.client.child() != child && bench.client.unavailable().empty(); }, 10s));
  }
  figure("hand killed 20 times during a request: " + std::to_string(unanswered) + " unanswered");
  CHECK(unanswered > 0);
  // The owner's QPs are whole: all in RTS, read right by a fresh hand, and it destroys them at the first try.
  const auto reply = bench.must(bench.about("rxe1", all));
  CHECK(count_errors(reply).empty());
  for (const auto& qp : reply.qps) CHECK(qp.before->state == 3);
  CHECK(owner.tell("destroy") == "destroyed 120 ebusy 0 failed 0");
}
