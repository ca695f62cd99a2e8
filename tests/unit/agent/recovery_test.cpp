// SPDX-License-Identifier: Apache-2.0
// The protocol of one end, and of two that hear each other: the phases, who agrees, and how it ends. What random schedules of losses do to
// it is in scenarios/recovery.
#include <catch2/catch.hpp>

#include "agent/psn.hpp"
#include "unit/agent/ends.hpp"

using namespace rdmend;
using namespace rdmend::agent;
using namespace rdmend::agent::test;

TEST_CASE("a connection that nothing was agreed on is never held") {
  Recovery machine(kSettings, 1);
  machine.failed(kNow, RecoveryCause::transport);
  CHECK_FALSE(machine.withholds());
  CHECK(machine.state().phase == ended);
  CHECK(machine.cause() == RecoveryCause::not_agreed);
  CHECK(machine.next(kNow) == RecoveryAction::none);  // there is nothing to release
  CHECK(machine.flows());
  // It is too late to agree now.
  machine.agreed(2);
  machine.failed(kNow, RecoveryCause::transport);
  CHECK_FALSE(machine.withholds());
}

TEST_CASE("who is asked by one that knows its incarnation has agreed") {
  Recovery machine(kSettings, 1);
  machine.heard(kNow, state_of(asked));
  CHECK(machine.state().phase == asked);
  CHECK(machine.cause() == RecoveryCause::joined);
}

TEST_CASE("one end fails: both go through the phases together, and the other joins") {
  Both both;
  both.a.machine.failed(kNow, RecoveryCause::transport);
  CHECK(both.a.machine.withholds());
  CHECK_FALSE(both.a.machine.flows());
  both.talk(kNow);
  for (const auto* end : {&both.a, &both.b}) {
    CHECK(end->machine.state().phase == running);
    CHECK(end->machine.generation() == 1);
    CHECK(end->machine.flows());
    CHECK_FALSE(end->machine.withholds());
  }
  CHECK(both.a.machine.cause() == RecoveryCause::transport);
  CHECK(both.b.machine.cause() == RecoveryCause::joined);
  // Each expects what the other sends, a little ahead of all that went before.
  CHECK(both.a.machine.new_psn() == 1000 + kPsnGap);
  CHECK(both.b.rq_psn == wire_psn(both.a.machine.new_psn()));
  CHECK(both.a.rq_psn == wire_psn(both.b.machine.new_psn()));
}

TEST_CASE("the actions of one end, in order, each once") {
  End a(1, 2);
  a.machine.failed(kNow, RecoveryCause::transport);
  CHECK(a.act(kNow) == Actions{RecoveryAction::read_psn});
  a.machine.heard(kNow, state_of(asked));
  CHECK(a.act(kNow) == Actions{RecoveryAction::judge});
  a.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  CHECK(a.act(kNow) == Actions{RecoveryAction::drain});
  a.machine.heard(kNow, state_of(known));
  CHECK(a.act(kNow) == Actions{RecoveryAction::judge});
  a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
  CHECK(a.act(kNow) == Actions{RecoveryAction::rebuild});
  CHECK(a.act(kNow).empty());
  a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  CHECK(a.act(kNow) == Actions{RecoveryAction::replay});
  CHECK(a.act(kNow).empty());
}

TEST_CASE("both ends fail at once: it merges into one generation") {
  Both both;
  both.a.machine.failed(kNow, RecoveryCause::transport);
  both.b.machine.failed(kNow, RecoveryCause::receiver_not_ready);
  both.talk(kNow);
  CHECK(both.a.machine.generation() == 1);
  CHECK(both.b.machine.generation() == 1);
  CHECK(both.a.machine.state().phase == running);
  CHECK(both.b.machine.state().phase == running);
}

TEST_CASE("an end that is only asked stays as it is until both agree") {
  End b(1, 2);
  b.machine.heard(kNow, state_of(asked));
  CHECK(b.machine.flows());
  CHECK(b.act(kNow) == Actions{RecoveryAction::read_psn, RecoveryAction::judge});
  CHECK(b.machine.flows());
  b.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  CHECK(b.act(kNow) == Actions{RecoveryAction::drain});
  CHECK_FALSE(b.machine.flows());
}

TEST_CASE("an end that is asked and whose table says no is not touched, and the asker has its error at once") {
  Both both;
  both.b.refusal = RecoveryRefusal::atomic_executed;
  both.a.machine.failed(kNow, RecoveryCause::transport);
  both.talk(kNow);
  CHECK(both.b.machine.cause() == RecoveryCause::refused);
  CHECK(both.b.machine.state().refusal == RecoveryRefusal::atomic_executed);
  CHECK(both.b.machine.flows());
  CHECK(both.a.machine.cause() == RecoveryCause::peer);
  CHECK(both.a.machine.state().phase == ended);
  CHECK_FALSE(both.a.machine.flows());
}

TEST_CASE("how it ends says what becomes of the QP") {
  SECTION("the failed end's own table says no") {
    End a(1, 2);
    a.refusal = RecoveryRefusal::read_overwritten;
    a.machine.failed(kNow, RecoveryCause::transport);
    a.machine.heard(kNow, state_of(asked));
    CHECK(a.act(kNow) == Actions{RecoveryAction::read_psn, RecoveryAction::judge, RecoveryAction::release});
    CHECK(a.machine.cause() == RecoveryCause::refused);
  }
  SECTION("the asker ends while we are only asked") {
    End b(1, 2);
    b.machine.heard(kNow, state_of(asked));
    b.act(kNow);
    b.machine.heard(kNow, state_of(ended));
    CHECK(b.act(kNow) == Actions{RecoveryAction::resume});
    CHECK(b.machine.flows());
    b.machine.failed(kNow, RecoveryCause::transport);  // it is for ever: not held again
    CHECK_FALSE(b.machine.withholds());
  }
  SECTION("the program's own error, while it is only asked") {
    End b(1, 2);
    b.machine.heard(kNow, state_of(asked));
    b.machine.forbidden(kNow, RecoveryCause::own_error);
    CHECK(b.act(kNow) == Actions{RecoveryAction::resume});
  }
  SECTION("the other ends after both went to ERR") {
    auto a = in_known();
    a.machine.heard(kNow, state_of(ended));
    CHECK(a.act(kNow) == Actions{RecoveryAction::release});
    CHECK(a.machine.cause() == RecoveryCause::peer);
    CHECK_FALSE(a.machine.flows());
  }
  SECTION("the other is not the process that agreed") {
    auto a = in_known();
    auto stranger = state_of(known);
    stranger.incarnation = 3;
    a.machine.heard(kNow, stranger);
    CHECK(a.act(kNow) == Actions{RecoveryAction::release});
    CHECK(a.machine.cause() == RecoveryCause::other_incarnation);
  }
  SECTION("DEVICE_FATAL on a connection that runs: it is not held, and there is nothing to release") {
    End a(1, 2);
    a.machine.forbidden(kNow, RecoveryCause::device_fatal);
    CHECK(a.act(kNow).empty());
    a.machine.failed(kNow, RecoveryCause::transport);
    CHECK_FALSE(a.machine.withholds());
  }
  SECTION("a stranger's word on a connection that runs changes nothing") {
    End a(1, 2);
    auto stranger = state_of(ended);
    stranger.incarnation = 3;
    a.machine.heard(kNow, stranger);
    CHECK(a.machine.state().phase == running);
  }
}

TEST_CASE("nobody holds an error for longer than give_up_after") {
  const auto late = kNow + kSettings.give_up_after;
  SECTION("the failed end has its error, the end that was only asked goes back") {
    Both both;
    both.a.machine.failed(kNow, RecoveryCause::transport);
    both.a.act(kNow);
    both.b.machine.heard(kNow, both.a.machine.state());
    both.b.act(kNow);
    REQUIRE(both.b.machine.state().phase == asked);
    CHECK(both.a.machine.next(late - milliseconds{1}) == RecoveryAction::none);
    CHECK(both.a.machine.wake_at(late - milliseconds{1}) <= late);
    CHECK(both.a.machine.next(late) == RecoveryAction::release);
    CHECK(both.a.machine.cause() == RecoveryCause::gave_up);
    CHECK(both.b.machine.next(late) == RecoveryAction::resume);
    CHECK(both.b.machine.state().phase == running);
    CHECK(both.b.machine.generation() == 0);
    // Asked again, it is as if for the first time.
    auto word = state_of(asked);
    word.incarnation = 1;
    both.b.machine.heard(late, word);
    CHECK(both.b.machine.state().phase == asked);
    CHECK(both.b.machine.generation() == 1);
  }
  SECTION("in KNOWN") {
    auto a = in_known();
    CHECK(a.act(late) == Actions{RecoveryAction::release});
  }
  SECTION("in BUILT") {
    auto a = in_built();
    CHECK(a.act(late) == Actions{RecoveryAction::release});
  }
  SECTION("and the end that was built with it and runs is told so, and is flushed as well") {
    auto b = in_built();
    b.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
    REQUIRE(b.act(kNow) == Actions{RecoveryAction::replay});
    auto word = state_of(ended);
    word.cause = RecoveryCause::gave_up;
    b.machine.heard(late, word);
    CHECK(b.act(late) == Actions{RecoveryAction::release});
    CHECK(b.machine.cause() == RecoveryCause::peer);
  }
}

TEST_CASE("the time counts from the first failure until traffic flows") {
  const auto later = kNow + seconds{40};
  auto a = in_built();
  a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  a.needs.nothing = false;
  a.act(kNow);
  SECTION("it has not flowed: what fails again belongs to the first failure") {
    a.machine.failed(later, RecoveryCause::transport);
    CHECK(a.machine.generation() == 2);
    CHECK(a.act(kNow + seconds{60}).back() == RecoveryAction::release);
  }
  SECTION("a request completed well") {
    a.machine.carried();
    a.machine.failed(later, RecoveryCause::transport);
    CHECK(a.act(kNow + seconds{60}) == Actions{RecoveryAction::read_psn});
    CHECK(a.act(later + seconds{60}) == Actions{RecoveryAction::release});
  }
  SECTION("nothing to send, and the other runs too") {
    a.machine.heard(kNow, state_of(running, 1));
    a.machine.failed(later, RecoveryCause::transport);
    CHECK(a.act(kNow + seconds{60}) == Actions{RecoveryAction::read_psn});
  }
  SECTION("nothing was heard for so long that it is another failure") {
    a.machine.failed(kNow + seconds{61}, RecoveryCause::transport);
    CHECK(a.act(kNow + seconds{62}) == Actions{RecoveryAction::read_psn});
  }
}

TEST_CASE("neither rebuilds before the other's verdict rests on the final PSN") {
  End a(1, 2);
  a.machine.failed(kNow, RecoveryCause::transport);
  a.act(kNow);
  a.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  CHECK(a.act(kNow) == Actions{RecoveryAction::judge, RecoveryAction::drain});
  CHECK(a.machine.state().verdict == RecoveryVerdict::unknown);  // what was said of the passing PSN is not said of the final one
  CHECK(a.act(kNow).empty());
  a.machine.heard(kNow, state_of(known));
  CHECK(a.act(kNow) == Actions{RecoveryAction::judge});
  a.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));  // late
  CHECK(a.act(kNow).empty());
  SECTION("it says yes") {
    a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
    CHECK(a.act(kNow) == Actions{RecoveryAction::rebuild});
  }
  SECTION("its yes was lost, but it could not be built without") {
    a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
    CHECK(a.act(kNow) == Actions{RecoveryAction::rebuild, RecoveryAction::replay});
  }
}

TEST_CASE("the verdict on the final PSN may be a no") {
  End a(1, 2);
  a.machine.failed(kNow, RecoveryCause::transport);
  a.act(kNow);
  a.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  a.act(kNow);
  a.refusal = RecoveryRefusal::atomic_executed;
  a.machine.heard(kNow, state_of(known));
  CHECK(a.act(kNow) == Actions{RecoveryAction::judge, RecoveryAction::release});
  CHECK(a.machine.state().verdict == RecoveryVerdict::no);
}

TEST_CASE("a receive that a SEND had begun and that did not come back refuses before the rebuild") {
  auto a = in_known();
  auto theirs = state_of(known, 1, RecoveryVerdict::yes);
  theirs.begun = true;
  a.machine.heard(kNow, theirs);
  CHECK(a.machine.next(kNow) == RecoveryAction::judge);
  a.machine.judged(kNow, RecoveryRefusal::none);
  REQUIRE(a.machine.next(kNow) == RecoveryAction::rebuild);
  CHECK(a.machine.peer().begun);
  a.machine.refused(RecoveryRefusal::begun_receive);
  CHECK(a.machine.next(kNow) == RecoveryAction::release);
  CHECK(a.machine.state().refusal == RecoveryRefusal::begun_receive);
  CHECK_FALSE(a.machine.rebuilding(1));
}

TEST_CASE("a late or doubled message takes nothing back") {
  auto a = in_built();
  for (const auto phase : {asked, known}) {
    for (const auto verdict : {RecoveryVerdict::unknown, RecoveryVerdict::yes}) a.machine.heard(kNow, state_of(phase, 1, verdict));
    CHECK(a.act(kNow).empty());
    CHECK(a.machine.state().phase == built);
  }
  a.machine.heard(kNow, state_of(built, 1, RecoveryVerdict::yes));
  a.machine.heard(kNow, state_of(known, 1, RecoveryVerdict::yes));
  CHECK(a.act(kNow) == Actions{RecoveryAction::replay});
  a.machine.heard(kNow, state_of(asked, 1));
  CHECK(a.machine.state().phase == running);
  a.machine.heard(kNow, state_of(running, 0));
  CHECK(a.machine.generation() == 1);
}
