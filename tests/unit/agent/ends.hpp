// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "agent/recovery.hpp"

// Ends of a connection for the tests of the protocol.
namespace rdmend::agent::test {

using enum RecoveryPhase;
using Actions = std::vector<RecoveryAction>;

inline constexpr Instant kNow{seconds{1000}};
inline constexpr RecoverySettings kSettings{seconds{60}, milliseconds{5}, milliseconds{10}, milliseconds{40}};

// One end, and an agent that does at once what it is asked for.
struct End {
  Recovery machine;
  std::uint32_t rq_psn = 0;
  std::uint64_t next_psn = 0;
  RecoveryRefusal refusal = RecoveryRefusal::none;
  ReplayNeeds needs{false, false, true};  // nothing to send
  std::uint32_t receives = 3;
  bool builds_well = true, drains = true, alive = true;  // alive: its QP is in a life, and tells a PSN
  Actions done;

  End(std::uint64_t own, std::uint64_t peer) : machine(kSettings, own) { machine.agreed(peer); }
  [[nodiscard]] std::optional<std::uint32_t> psn() const { return alive ? std::optional(rq_psn) : std::nullopt; }
  // Answers what is asked; what was asked since the last look.
  Actions act(Instant now) {
    done.clear();
    for (auto action = machine.next(now); action != RecoveryAction::none; action = machine.next(now)) {
      done.push_back(action);
      answer(now, action);
    }
    return done;
  }
  void answer(Instant now, RecoveryAction action) {
    const auto generation = machine.generation();
    if (action == RecoveryAction::read_psn) machine.psn_read(now, psn());
    if (action == RecoveryAction::judge) machine.judged(now, refusal, needs);
    if (action == RecoveryAction::drain && drains) machine.drained(now, generation, psn(), next_psn, 0);
    if (action != RecoveryAction::rebuild || !machine.rebuilding(generation)) return;
    alive = builds_well;
    if (builds_well) rq_psn = machine.state().expected.psn, next_psn = machine.new_psn();
    machine.rebuilt(now, generation, builds_well, receives);
  }
};

// Two ends that hear each other at once, until neither has anything new to say.
struct Both {
  End a{1, 2}, b{2, 1};
  Both() {
    a.rq_psn = 100, a.next_psn = 1000;
    b.rq_psn = 900, b.next_psn = 150;
  }
  void talk(Instant now) {
    for (bool said = true; said;) {
      a.act(now), b.act(now);
      said = false;
      if (a.machine.say(now)) b.machine.heard(now, a.machine.state()), said = true;
      if (b.machine.say(now)) a.machine.heard(now, b.machine.state()), said = true;
    }
  }
};

inline RecoveryState state_of(RecoveryPhase phase, std::uint32_t generation = 1, RecoveryVerdict verdict = RecoveryVerdict::unknown) {
  RecoveryState s;
  s.incarnation = 2;
  s.phase = phase;
  s.generation = generation;
  s.verdict = verdict;
  s.expected.live = s.expected_before.live = true;
  return s;
}

// An end that has failed and has the other's yes, and whose agent will not come to an end with draining.
inline End about_to_drain() {
  End end(1, 2);
  end.drains = false;
  end.machine.failed(kNow, RecoveryCause::transport);
  end.act(kNow);
  end.machine.heard(kNow, state_of(asked, 1, RecoveryVerdict::yes));
  return end;
}
// An end that has failed, drained and heard the other's final PSN.
inline End in_known(Instant now = kNow) {
  End end(1, 2);
  end.machine.failed(now, RecoveryCause::transport);
  end.act(now);
  end.machine.heard(now, state_of(asked, 1, RecoveryVerdict::yes));
  end.act(now);
  REQUIRE(end.machine.state().phase == known);
  return end;
}
// And is built.
inline End in_built(Instant now = kNow) {
  auto end = in_known(now);
  end.machine.heard(now, state_of(known, 1, RecoveryVerdict::yes));
  end.act(now);
  REQUIRE(end.machine.state().phase == built);
  return end;
}

}  // namespace rdmend::agent::test
