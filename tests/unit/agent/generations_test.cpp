// SPDX-License-Identifier: Apache-2.0
// A recovery that fails in the middle, and what an end says of itself meanwhile.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "agent/psn.hpp"
#include "unit/agent/ends.hpp"

using namespace rdmend;
using namespace rdmend::agent;
using namespace rdmend::agent::test;

TEST_CASE("a failure in the middle begins the next generation at the first phase") {
  SECTION("a rebuilt QP fails before it runs") {
    auto a = in_built();
    a.machine.failed(kNow, RecoveryCause::transport);
    CHECK(a.machine.state().phase == asked);
    CHECK(a.machine.generation() == 2);
  }
  SECTION("a larger generation is heard") {
    auto a = in_known();
    a.machine.heard(kNow, state_of(asked, 5));
    CHECK(a.machine.state().phase == asked);
    CHECK(a.machine.generation() == 5);
    CHECK(a.machine.cause() == RecoveryCause::transport);  // ours stays ours
  }
  SECTION("what was asked for in the generation before does not count") {
    auto a = about_to_drain();
    REQUIRE(a.act(kNow) == Actions{RecoveryAction::judge, RecoveryAction::drain});
    a.machine.heard(kNow, state_of(asked, 2, RecoveryVerdict::yes));
    a.machine.drained(kNow, 1, 77, 2000, 0);
    CHECK(a.machine.state().phase == asked);
    CHECK(a.machine.state().expected.psn == 77);  // it is true all the same
    CHECK(a.act(kNow) == Actions{RecoveryAction::read_psn, RecoveryAction::judge, RecoveryAction::drain});
    CHECK_FALSE(a.machine.rebuilding(1));
    a.machine.rebuilt(kNow, 1, true, 1);
    CHECK(a.machine.state().phase == asked);
  }
}

TEST_CASE("a rebuild that fails backs off, twice as long each time up to a limit") {
  Both both;
  both.a.builds_well = false;
  both.a.machine.failed(kNow, RecoveryCause::transport);
  auto now = kNow;
  for (const auto wait : {10, 20, 40, 40}) {
    both.talk(now);
    const auto& state = both.a.machine.state();
    CHECK(state.phase == known);
    CHECK(both.a.act(now + milliseconds{wait} - milliseconds{1}).empty());
    const auto generation = state.generation;
    now += milliseconds{wait};
    CHECK(both.a.machine.wake_at(now - milliseconds{1}) <= now);
    CHECK(both.a.act(now).front() == RecoveryAction::rebuild);
    CHECK(both.a.machine.generation() == generation + 1);
  }
  both.a.builds_well = true;
  both.talk(now + milliseconds{40});
  both.talk(now + milliseconds{80});
  CHECK(both.a.machine.state().phase == running);
  CHECK(both.b.machine.state().phase == running);
}

TEST_CASE("what was asked for, and is answered after the end, begins nothing again") {
  SECTION("a rebuild") {
    auto a = in_known();
    a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
    REQUIRE(a.machine.next(kNow) == RecoveryAction::judge);
    a.machine.judged(kNow, RecoveryRefusal::none);
    REQUIRE(a.machine.next(kNow) == RecoveryAction::rebuild);
    REQUIRE(a.machine.rebuilding(1));
    a.machine.heard(kNow, state_of(ended));
    a.machine.rebuilt(kNow, 1, GENERATE(false, true), 1);
    CHECK(a.machine.state().phase == ended);
    CHECK(a.act(kNow) == Actions{RecoveryAction::release});
  }
  SECTION("a drain") {
    auto a = about_to_drain();
    a.act(kNow);
    a.machine.heard(kNow, state_of(ended));
    a.machine.drained(kNow, 1, 5, 6, 7);
    CHECK(a.machine.state().phase == ended);
  }
  SECTION("what an end was asked for that goes back") {
    End b(1, 2);
    b.machine.heard(kNow, state_of(asked));
    REQUIRE(b.machine.next(kNow) == RecoveryAction::read_psn);
    REQUIRE(b.machine.next(kNow + seconds{60}) == RecoveryAction::resume);
    b.machine.psn_read(kNow + seconds{60}, 5);
    b.machine.judged(kNow + seconds{60}, RecoveryRefusal::atomic_executed);
    CHECK(b.machine.state().phase == running);
    CHECK(b.act(kNow + seconds{60}).empty());
  }
}

TEST_CASE("an end that goes back, goes back to the generation that it last ran in") {
  auto b = in_built();
  b.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  b.act(kNow);
  REQUIRE(b.machine.state().phase == running);
  b.machine.heard(kNow, state_of(asked, 2));
  b.act(kNow);
  b.machine.heard(kNow, state_of(asked, 3));
  CHECK(b.act(kNow + seconds{60}) == Actions{RecoveryAction::resume});
  CHECK(b.machine.state().phase == running);
  CHECK(b.machine.generation() == 1);
  // A late word of that generation begins nothing.
  b.machine.heard(kNow + seconds{60}, state_of(known, 1, RecoveryVerdict::yes));
  CHECK(b.machine.state().phase == running);
}

TEST_CASE("after an RNR the replay waits for receives, if what is first takes one") {
  End a(1, 2);
  a.machine.failed(kNow, RecoveryCause::receiver_not_ready);
  a.needs = {false, true, false};
  SECTION("a SEND is first") {}
  SECTION("nothing that takes a receive is first") { a.needs.receive = false; }
  a.act(kNow);
  a.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  a.act(kNow);
  a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
  a.act(kNow);
  auto theirs = state_of(built, 1, RecoveryVerdict::yes);
  a.machine.heard(kNow, theirs);
  if (!a.needs.receive) {
    CHECK(a.act(kNow) == Actions{RecoveryAction::replay});
    return;
  }
  CHECK(a.act(kNow).empty());
  theirs.phase = running;  // it needs nothing of us
  a.machine.heard(kNow, theirs);
  CHECK(a.act(kNow).empty());
  theirs.receives = 1;
  a.machine.heard(kNow, theirs);
  CHECK(a.act(kNow) == Actions{RecoveryAction::replay});
}

TEST_CASE("the PSN says which life it is of") {
  auto a = in_known();
  CHECK(a.machine.state().expected == RecoveryPsn{0, 0, true});
  auto theirs = state_of(known, 1, RecoveryVerdict::yes);
  theirs.new_psn = 5000;
  a.rq_psn = 0;
  a.machine.heard(kNow, theirs);
  a.act(kNow);
  REQUIRE(a.machine.state().phase == built);
  CHECK(a.machine.state().expected == RecoveryPsn{1, 5000, true});
  CHECK(a.machine.state().expected_before == RecoveryPsn{0, 0, true});
  // Again, and nothing came in life 1: the other may still be in life 0.
  const auto again = [&](std::uint32_t generation, std::uint32_t came, std::uint32_t new_psn) {
    a.machine.failed(kNow, RecoveryCause::transport);
    REQUIRE(a.machine.generation() == generation);
    a.rq_psn = came;
    a.act(kNow);
    theirs = state_of(known, generation, RecoveryVerdict::yes);
    theirs.new_psn = new_psn;
    a.machine.heard(kNow + seconds{1}, theirs);
    a.act(kNow + seconds{1});
    REQUIRE(a.machine.state().phase == built);
  };
  again(2, 5000, 6000);
  CHECK(a.machine.state().expected == RecoveryPsn{2, 6000, true});
  CHECK(a.machine.state().expected_before == RecoveryPsn{0, 0, true});
  again(3, 6001, 7000);
  CHECK(a.machine.state().expected == RecoveryPsn{3, 7000, true});
  CHECK(a.machine.state().expected_before == RecoveryPsn{2, 6001, true});
}

TEST_CASE("a rebuild that fails half way is a life in which nothing came") {
  auto a = in_known();
  a.builds_well = false;
  auto theirs = state_of(known, 1, RecoveryVerdict::yes);
  theirs.new_psn = 5000;
  a.machine.heard(kNow, theirs);
  a.act(kNow);
  REQUIRE(a.machine.generation() == 2);
  CHECK(a.machine.state().expected == RecoveryPsn{1, 5000, true});
  CHECK(a.machine.state().expected_before == RecoveryPsn{0, 0, true});
  a.machine.heard(kNow, state_of(asked, 2, RecoveryVerdict::yes));
  CHECK(a.machine.next(kNow) == RecoveryAction::judge);
  a.machine.judged(kNow, RecoveryRefusal::none);
  REQUIRE(a.machine.next(kNow) == RecoveryAction::drain);
  a.machine.drained(kNow, 2, std::nullopt, 3000, 0);
  CHECK(a.machine.state().expected == RecoveryPsn{1, 5000, true});
}

TEST_CASE("each life begins beyond what was announced for the one before, though it was never entered") {
  auto a = in_known();
  const auto announced = a.machine.new_psn();
  a.builds_well = false;
  a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
  a.act(kNow);
  REQUIRE(a.machine.generation() == 2);
  a.machine.heard(kNow, state_of(asked, 2, RecoveryVerdict::yes));
  a.act(kNow);
  REQUIRE(a.machine.state().phase == known);
  CHECK(a.machine.new_psn() >= announced + kPsnGap);
}

TEST_CASE("a device that does not tell its PSN says so") {
  auto settings = kSettings;
  settings.live_psn = false;
  Recovery machine(settings, 1);
  CHECK_FALSE(machine.state().expected.live);
  CHECK_FALSE(machine.state().expected_before.live);
}

TEST_CASE("the state is said while it changes, and to who is behind") {
  End a(1, 2);
  CHECK_FALSE(a.machine.say(kNow));
  CHECK_FALSE(a.machine.wake_at(kNow));
  a.machine.failed(kNow, RecoveryCause::transport);
  CHECK_FALSE(a.machine.say(kNow));  // before its PSN is read there is nothing to say
  a.act(kNow);
  CHECK(a.machine.say(kNow));
  CHECK_FALSE(a.machine.say(kNow + milliseconds{4}));
  CHECK(a.machine.wake_at(kNow + milliseconds{4}) == kNow + milliseconds{5});
  CHECK(a.machine.say(kNow + milliseconds{5}));
  a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  a.act(kNow);
  REQUIRE(a.machine.state().phase == running);
  CHECK(a.machine.say(kNow + milliseconds{6}));
  CHECK_FALSE(a.machine.say(kNow + seconds{6}));  // it runs, and is quiet
  CHECK_FALSE(a.machine.wake_at(kNow + seconds{6}));
  // However often one that is behind asks, it is answered each 5 ms at most.
  const auto later = kNow + seconds{7};
  int said = 0;
  for (int i = 0; i < 100; ++i) {
    a.machine.heard(later + milliseconds{i}, state_of(known, 1, RecoveryVerdict::yes));
    said += a.machine.say(later + milliseconds{i}) ? 1 : 0;
  }
  CHECK(said == 20);
  // Two that have ended do not answer each other for ever.
  a.machine.forbidden(later, RecoveryCause::application);
  CHECK(a.machine.say(later + seconds{1}));
  a.machine.heard(later, state_of(ended));
  CHECK_FALSE(a.machine.say(later + seconds{2}));
  a.machine.heard(later, state_of(asked, 9));
  CHECK(a.machine.say(later + seconds{3}));
}

TEST_CASE("receives that a starved peer waits for are told at once") {
  auto a = in_built();
  CHECK(a.machine.say(kNow));
  a.receives = 0;
  a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  a.machine.receives_posted(kNow, 0);
  a.act(kNow);
  CHECK(a.machine.say(kNow));
  a.machine.receives_posted(kNow, 1);
  CHECK(a.machine.state().receives == 1);
  CHECK(a.machine.say(kNow));
  a.machine.receives_posted(kNow, 2);
  CHECK_FALSE(a.machine.say(kNow));
}

TEST_CASE("there is no generation after the last") {
  constexpr auto kLast = std::numeric_limits<std::uint32_t>::max();
  End a(1, 2);
  a.machine.heard(kNow, state_of(asked, kLast, RecoveryVerdict::yes));
  CHECK(a.machine.generation() == kLast);
  a.act(kNow);
  a.machine.heard(kNow, state_of(known, kLast, RecoveryVerdict::yes));
  a.act(kNow);
  REQUIRE(a.machine.state().phase == built);
  a.machine.failed(kNow, RecoveryCause::transport);
  CHECK(a.act(kNow) == Actions{RecoveryAction::release});
  CHECK(a.machine.cause() == RecoveryCause::gave_up);
}

TEST_CASE("whatever is heard, an error is held no longer than give_up_after, and the phases are in order") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same cases each run
  for (int round = 0; round < 3000; ++round) {
    End end(1, 2);
    auto now = kNow;
    std::optional<Instant> held;
    for (int step = 0; step < 60; ++step) {
      now += milliseconds{random() % 8 == 0 ? 9000 : random() % 10};
      const auto generation = end.machine.generation() + static_cast<std::uint32_t>(random() % 3) - 1;
      auto word = state_of(static_cast<RecoveryPhase>(random() % 5), generation, static_cast<RecoveryVerdict>(random() % 3));
      if (random() % 20 == 0) word.incarnation = random() % 3;
      if (random() % 10 == 0) word.generation = static_cast<std::uint32_t>(random());
      word.receives = random() % 2;
      word.new_psn = random() & 0xffffff;
      if (random() % 12 != 0 && word.phase == ended) word.phase = asked;
      if (random() % 3 != 0) end.machine.heard(now, word);
      if (random() % 4 == 0) end.machine.failed(now, RecoveryCause::transport);
      end.refusal = random() % 30 == 0 ? RecoveryRefusal::read_overwritten : RecoveryRefusal::none;
      end.builds_well = random() % 4 != 0;
      end.drains = random() % 4 != 0;
      const auto before = end.machine.state();
      end.act(now);
      const auto& after = end.machine.state();
      REQUIRE((after.generation >= before.generation || after.phase == running));
      if (before.phase == ended) REQUIRE(after.phase == ended);
      if (end.machine.say(now)) REQUIRE((after.phase != asked || after.generation > 0));
      if (!end.machine.withholds()) held.reset();
      if (end.machine.withholds() && !held) held = now;
      if (held) REQUIRE(now - *held < kSettings.give_up_after);
      if (end.machine.withholds()) REQUIRE(end.machine.wake_at(now) <= *held + kSettings.give_up_after);
    }
  }
}
