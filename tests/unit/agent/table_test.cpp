// SPDX-License-Identifier: Apache-2.0
// The decision table row by row, then what is about more than one request.
#include "agent/table.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "agent/psn.hpp"

using namespace rdmend;
using namespace rdmend::agent;

namespace {

using enum Fate;

constexpr std::uint64_t kFirst = 0xfffffe;  // the ring's end is within

// A queue of requests, numbered as they are added.
struct Queue {
  std::vector<Request> requests;
  std::uint64_t next = kFirst;

  Request& add(RequestKind kind, std::uint32_t length = 100, std::uint64_t address = 0) {
    Request r;
    r.kind = kind;
    r.length = kind == RequestKind::atomic ? 8 : length;
    r.remote_address = address;
    r.first_psn = next;
    r.psns = kind == RequestKind::memory_window ? 0 : psns_of(r.length, 1024);
    next += r.psns;
    requests.push_back(r);
    return requests.back();
  }
  std::vector<Decision> decisions;
  RecoveryRefusal judge(const Told& told) {
    decisions.assign(requests.size(), {});
    return agent::judge(requests, {kFirst, next, 1024}, told, decisions);
  }
  // As the responder stands after so many packets.
  RecoveryRefusal judge_after(std::uint64_t packets) { return judge({false, true, wire_psn(kFirst + packets)}); }
};

constexpr Told kUntold{false, false, std::nullopt};

}  // namespace

TEST_CASE("each row of the table") {
  struct Row {
    RequestKind kind;
    Fate executed, straddles, not_begun, untold, untold_safe;
  };
  using enum RequestKind;
  for (const auto& row : std::vector<Row>{
           {write, complete, replay_rest, replay, refuse_no_psn, replay},
           {write_with_imm, complete, replay_rest, replay, refuse_no_psn, replay},
           {send, complete, replay, replay, refuse_no_psn, replay},
           {read, replay, replay, replay, replay, replay},
           {atomic, refuse_executed_atomic, refuse_executed_atomic, replay, refuse_no_psn, refuse_no_psn},
           {memory_window, refuse_memory_window, refuse_memory_window, refuse_memory_window, refuse_memory_window, refuse_memory_window},
       }) {
    INFO("kind " << static_cast<int>(row.kind));
    CHECK(fate_of(row.kind, Progress::executed, false) == row.executed);
    CHECK(fate_of(row.kind, Progress::straddles, false) == row.straddles);
    CHECK(fate_of(row.kind, Progress::not_begun, false) == row.not_begun);
    CHECK(fate_of(row.kind, Progress::untold, false) == row.untold);
    CHECK(fate_of(row.kind, Progress::untold, true) == row.untold_safe);
    // To be safe to repeat changes nothing where it is told what was executed.
    CHECK(fate_of(row.kind, Progress::executed, true) == row.executed);
    CHECK(fate_of(row.kind, Progress::straddles, true) == row.straddles);
  }
}

TEST_CASE("where the PSN falls decides between executed, straddling and not begun") {
  Queue q;
  q.add(RequestKind::write, 3000);  // 3 packets
  q.add(RequestKind::send, 0);      // 1, with nothing in it
  q.add(RequestKind::write_with_imm, 2048);
  const std::vector<std::array<Fate, 3>> fates{{replay, replay, replay},         {replay_rest, replay, replay},     {replay_rest, replay, replay},    {complete, replay, replay},
                                               {complete, complete, replay},     {complete, complete, replay_rest}, {complete, complete, complete}};
  for (std::uint64_t packets = 0; packets < fates.size(); ++packets) {
    INFO(packets << " packets taken");
    REQUIRE(q.judge_after(packets) == RecoveryRefusal::none);
    for (std::size_t i = 0; i < 3; ++i) CHECK(q.decisions[i].fate == fates[packets][i]);
    CHECK(q.decisions[0].skip == (packets == 1 || packets == 2 ? packets * 1024 : 0));
    CHECK(q.decisions[2].skip == (packets == 5 ? 1024 : 0));
  }
}

TEST_CASE("what a second failure finds of a request that was replayed in part adds up") {
  Queue q;
  auto& r = q.add(RequestKind::write, 5000);  // 5 packets; an earlier life executed 2
  r.skipped = 2048;
  r.psns = 3;
  q.next = kFirst + 3;
  REQUIRE(q.judge_after(1) == RecoveryRefusal::none);
  CHECK(q.decisions[0].fate == replay_rest);
  CHECK(q.decisions[0].skip == 3072);
  REQUIRE(q.judge_after(0) == RecoveryRefusal::none);
  CHECK(q.decisions[0].fate == replay);
  CHECK(q.decisions[0].skip == 2048);
}

TEST_CASE("an executed atomic's result is lost") {
  Queue q;
  q.add(RequestKind::write);
  q.add(RequestKind::atomic);
  CHECK(q.judge_after(1) == RecoveryRefusal::none);
  CHECK(q.judge_after(2) == RecoveryRefusal::atomic_executed);
}

TEST_CASE("BIND_MW and LOCAL_INV outstanding refuse") {
  Queue q;
  q.add(RequestKind::write);
  q.add(RequestKind::memory_window);
  CHECK(q.judge_after(0) == RecoveryRefusal::memory_window);
  CHECK(q.judge_after(1) == RecoveryRefusal::memory_window);
}

TEST_CASE("a READ is not replayed when what it read was changed by a later request of ours") {
  Queue q;
  q.add(RequestKind::read, 2000, 10'000);
  SECTION("a WRITE that overlaps") {
    q.add(RequestKind::write, 3000, 11'999);
    CHECK(q.judge_after(0) == RecoveryRefusal::none);
    CHECK(q.judge_after(2) == RecoveryRefusal::none);
    CHECK(q.judge_after(3) == RecoveryRefusal::read_overwritten);  // it straddles: some of it is there
    CHECK(q.judge_after(5) == RecoveryRefusal::read_overwritten);
  }
  SECTION("a WRITE beside it") {
    q.add(RequestKind::write, 100, 12'000);
    q.add(RequestKind::write, 100, 9'900);
    CHECK(q.judge_after(4) == RecoveryRefusal::none);
  }
  SECTION("on both sides of it, though their hull covers it") {
    q.add(RequestKind::write, 100, 100'000);
    q.add(RequestKind::write, 100, 1);
    CHECK(q.judge_after(4) == RecoveryRefusal::none);
  }
  SECTION("a WRITE that an earlier life executed") {
    auto& w = q.add(RequestKind::write, 100, 10'000);
    w.executed = true;
    w.posted = false;
    CHECK(q.judge_after(0) == RecoveryRefusal::read_overwritten);
  }
  SECTION("a SEND, or a WRITE of nothing") {
    q.add(RequestKind::send, 100, 10'000);
    q.add(RequestKind::write, 0, 10'500);
    CHECK(q.judge_after(4) == RecoveryRefusal::none);
  }
  SECTION("an earlier WRITE does no harm") {
    Queue other;
    other.add(RequestKind::write, 100, 10'000);
    other.add(RequestKind::read, 100, 10'000);
    CHECK(other.judge_after(2) == RecoveryRefusal::none);
  }
  SECTION("where it is not told what was executed, any later one may have been") {
    q.add(RequestKind::write, 100, 10'000).replay_safe = true;
    CHECK(q.judge(kUntold) == RecoveryRefusal::read_overwritten);
  }
}

TEST_CASE("what was executed behind a replayed READ waits for it") {
  Queue q;
  q.add(RequestKind::write);
  q.add(RequestKind::read).signalled = false;
  q.add(RequestKind::read, 100, 5'000).signalled = false;
  q.add(RequestKind::send);
  q.add(RequestKind::write, 100, 9'000);
  REQUIRE(q.judge_after(4) == RecoveryRefusal::none);
  CHECK(q.decisions[0].fate == complete);
  CHECK_FALSE(q.decisions[0].waits);
  CHECK(q.decisions[1].fate == replay);
  CHECK_FALSE(q.decisions[1].signal);  // the one behind it releases
  CHECK(q.decisions[2].fate == replay);
  CHECK(q.decisions[2].signal);
  CHECK(q.decisions[3].fate == complete);
  CHECK(q.decisions[3].waits);
  CHECK(q.decisions[4].fate == replay);
  CHECK_FALSE(q.decisions[4].signal);
}

TEST_CASE("what nobody has posted is replayed, whatever the PSN says") {
  Queue q;
  q.add(RequestKind::write).posted = false;
  q.add(RequestKind::atomic).posted = false;
  q.add(RequestKind::send).posted = false;
  CHECK(q.judge_after(3) == RecoveryRefusal::none);
  for (const auto& d : q.decisions) CHECK(d.fate == replay);
  CHECK(q.judge(kUntold) == RecoveryRefusal::none);
}

TEST_CASE("a PSN that is none of ours refuses") {
  Queue q;
  q.add(RequestKind::write, 3000);
  CHECK(q.judge_after(3) == RecoveryRefusal::none);
  CHECK(q.judge_after(4) == RecoveryRefusal::psn_foreign);
  CHECK(q.judge({false, true, wire_psn(kFirst - 1)}) == RecoveryRefusal::psn_foreign);
  CHECK(q.judge({true, true, wire_psn(kFirst)}) == RecoveryRefusal::psn_foreign);
}

TEST_CASE("more than half the ring outstanding refuses") {
  Queue q;
  q.add(RequestKind::write, 1024);
  q.next = kFirst + kPsnWindow;
  CHECK(q.judge_after(1) == RecoveryRefusal::none);
  q.next = kFirst + kPsnWindow + 1;
  CHECK(q.judge_after(1) == RecoveryRefusal::psn_window);
}

TEST_CASE("which life a responder's PSN is of") {
  RecoveryState s;
  s.expected = {7, 700, true};
  s.expected_before = {4, 400, true};
  CHECK(told_of(7, s).psn == 700U);
  CHECK(told_of(4, s).psn == 400U);
  // It was built in 5 or 6 too, perhaps, and nothing came; and it was not in 8.
  for (const std::uint32_t life : {5U, 6U, 8U}) {
    const auto told = told_of(life, s);
    CHECK(told.live);
    CHECK_FALSE(told.psn);
    CHECK_FALSE(told.foreign);
  }
  CHECK(told_of(3, s).foreign);
  s.expected.live = false;
  CHECK_FALSE(told_of(7, s).live);
}

TEST_CASE("what the replay needs of the other end") {
  Queue q;
  SECTION("nothing to replay") {
    q.add(RequestKind::write);
    q.add(RequestKind::send);
    REQUIRE(q.judge_after(2) == RecoveryRefusal::none);
    const auto needs = needs_of(q.requests, q.decisions);
    CHECK(needs.nothing);
    CHECK_FALSE(needs.receive);
    CHECK_FALSE(needs.begun_receive);
  }
  SECTION("a SEND that straddles has begun a receive; the message goes from its beginning") {
    q.add(RequestKind::send, 3000);
    REQUIRE(q.judge_after(1) == RecoveryRefusal::none);
    CHECK(q.decisions[0].begun);
    CHECK(q.decisions[0].skip == 0);
    const auto needs = needs_of(q.requests, q.decisions);
    CHECK(needs.begun_receive);
    CHECK(needs.receive);
    CHECK_FALSE(needs.nothing);
  }
  SECTION("a WRITE_WITH_IMM takes its receive with its last packet: none is begun when it straddles") {
    q.add(RequestKind::write_with_imm, 3000);
    REQUIRE(q.judge_after(2) == RecoveryRefusal::none);
    const auto needs = needs_of(q.requests, q.decisions);
    CHECK_FALSE(needs.begun_receive);
    CHECK(needs.receive);
  }
  SECTION("the first that is not executed counts") {
    q.add(RequestKind::send);
    q.add(RequestKind::write);
    q.add(RequestKind::send);
    REQUIRE(q.judge_after(1) == RecoveryRefusal::none);
    CHECK_FALSE(needs_of(q.requests, q.decisions).receive);
    REQUIRE(q.judge_after(0) == RecoveryRefusal::none);
    CHECK(needs_of(q.requests, q.decisions).receive);
  }
}

// Against a plain reading of the rule: a queue is what it is, packet by packet.
TEST_CASE("random queues: the decisions are what counting packets says") {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same cases each run
  for (int round = 0; round < 5000; ++round) {
    Queue q;
    for (auto n = 1 + random() % 8; n > 0; --n)
      q.add(static_cast<RequestKind>(random() % 4), static_cast<std::uint32_t>(random() % 5000), random() % 50'000 * 10'000);
    const auto taken = random() % (q.next - kFirst + 1);
    if (q.judge_after(taken) == RecoveryRefusal::read_overwritten) continue;
    std::uint64_t before = 0;
    bool read_replayed = false;
    for (std::size_t i = 0; i < q.requests.size(); ++i) {
      const auto& r = q.requests[i];
      const auto& d = q.decisions[i];
      const auto of_it = std::min(r.psns, taken - std::min(taken, before));
      before += r.psns;
      INFO("round " << round << " request " << i << " kind " << static_cast<int>(r.kind) << ", " << of_it << " of " << r.psns << " taken");
      const bool writes = r.kind == RequestKind::write || r.kind == RequestKind::write_with_imm;
      if (r.kind != RequestKind::read && of_it == r.psns) {
        REQUIRE(d.fate == complete);
        REQUIRE(d.waits == read_replayed);
      } else {
        REQUIRE(d.fate == (writes && of_it > 0 ? replay_rest : replay));
        REQUIRE(d.skip == (writes ? of_it * 1024 : 0));
        REQUIRE(d.skip <= r.length);
      }
      read_replayed = read_replayed || r.kind == RequestKind::read;
    }
  }
}
