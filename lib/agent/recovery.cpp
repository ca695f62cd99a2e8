// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery.hpp"

#include <algorithm>
#include <limits>

#include "agent/psn.hpp"

namespace rdmend::agent {
namespace {

using enum RecoveryPhase;

// How far a phase is within its generation, whose last one is to run.
int progress_of(RecoveryPhase phase) { return phase == running ? static_cast<int>(ended) : static_cast<int>(phase); }

}  // namespace

Recovery::Recovery(const RecoverySettings& settings, std::uint64_t own_incarnation) : settings_(settings) {
  own_.incarnation = own_incarnation;
  own_.expected.live = own_.expected_before.live = settings.live_psn;
}

void Recovery::agreed(std::uint64_t peer_incarnation) { peer_incarnation_ = peer_incarnation; }

void Recovery::failed(Instant now, RecoveryCause cause) {
  if (own_.phase == ended) return;
  if (peer_incarnation_ == 0) return end(RecoveryCause::not_agreed);
  if (own_.phase == running || own_.phase == built) {
    begin(now, own_.generation, cause);
  } else if (own_.cause == RecoveryCause::joined) {
    own_.cause = cause;
  }
  touched_ = true;
}

void Recovery::forbidden(Instant, RecoveryCause cause) {
  if (own_.phase != ended) end(cause);
}

// `after` is the generation that failed.
void Recovery::begin(Instant now, std::uint32_t after, RecoveryCause cause) {
  if (after == std::numeric_limits<std::uint32_t>::max()) return end(RecoveryCause::gave_up);
  if (own_.phase == running && now - ran_ >= settings_.give_up_after) since_.reset();
  if (!since_) {
    since_ = now;
    tries_ = 0;
    touched_ = false;
    own_.cause = cause;
  } else if (cause != RecoveryCause::joined) {
    own_.cause = cause;
  }
  if (own_.phase == running) ran_generation_ = own_.generation;
  own_.generation = after + 1;
  own_.receives = 0;
  own_.refusal = RecoveryRefusal::none;
  read_ = drain_ = rebuild_ = Work::due;
  last_action_ = RecoveryAction::none;
  last_ = Work::done;
  heard_ = false;
  not_before_ = now + back_off();
  ++tries_;
  enter(asked);
}

void Recovery::enter(RecoveryPhase phase) {
  own_.phase = phase;
  if (phase == asked || phase == known) {
    own_.verdict = RecoveryVerdict::unknown;
    own_.begun = false;
    judge_ = Work::due;
  }
  unsaid_ = true;
}

// A QP that was not touched stays so: what happens to it later is the application's at once.
void Recovery::end(RecoveryCause cause) { end(cause, !recovering() ? RecoveryAction::none : untouched() ? RecoveryAction::resume : RecoveryAction::release); }

void Recovery::end(RecoveryCause cause, RecoveryAction action) {
  last_action_ = action;
  released_ = action == RecoveryAction::release;
  own_.cause = cause;
  own_.phase = ended;
  stop();
  unsaid_ = true;
}

// What was asked for, and is answered only now, begins nothing again.
void Recovery::stop() {
  since_.reset();
  read_ = judge_ = drain_ = rebuild_ = Work::done;
  last_ = Work::due;
}

// Who was only asked, and hears no more, goes back to where it was: to the generation that it last ran in, of which nothing said later
// can be mistaken. When it is asked again, the generation is new to it.
void Recovery::give_up() {
  if (!untouched()) return end(RecoveryCause::gave_up);
  own_.phase = running;
  own_.cause = RecoveryCause::none;
  own_.generation = ran_generation_;
  heard_ = false;
  last_action_ = RecoveryAction::resume;
  stop();
}

nanoseconds Recovery::back_off() const {
  if (tries_ == 0) return nanoseconds{0};
  return std::min<nanoseconds>(settings_.most_back_off, settings_.first_back_off * (std::int64_t{1} << std::min(tries_ - 1, 20U)));
}

void Recovery::heard(Instant now, const RecoveryState& peer) {
  if (own_.phase == ended) {
    peer_behind_ = peer.phase != ended;
    return;
  }
  if (peer_incarnation_ == 0) agreed(peer.incarnation);  // who knows our incarnation has agreed; its word came before the daemon's
  if (peer.incarnation != peer_incarnation_) {
    if (recovering()) end(RecoveryCause::other_incarnation);
    return;
  }
  if (peer.phase == ended) return peer_ended(peer.cause);
  if (peer.generation < own_.generation) {
    peer_behind_ = true;
    return;
  }
  if (peer.generation > own_.generation) begin(now, peer.generation - 1, RecoveryCause::joined);
  if (own_.phase != ended) take(now, peer);
}

void Recovery::take(Instant, const RecoveryState& peer) {
  const auto theirs = progress_of(peer.phase);
  if (theirs < progress_of(own_.phase)) peer_behind_ = true;
  // An older message that comes late takes nothing back.
  if (heard_ && theirs < progress_of(peer_.phase)) return;
  if (heard_ && theirs == progress_of(peer_.phase) && peer.verdict == RecoveryVerdict::unknown && peer_.verdict != RecoveryVerdict::unknown) return;
  peer_ = peer;
  heard_ = true;
  settle();
}

// The end of a series for who has nothing to send, and so will see no traffic of its own.
void Recovery::settle() {
  if (own_.phase == running && needs_.nothing && peer_in(running)) since_.reset();
}

// That is for ever, so we shall never hold an error again. When it gave up on a QP that we have rebuilt with it, ours has nobody to talk to.
void Recovery::peer_ended(RecoveryCause why) {
  const bool rebuilt_for_nothing = own_.phase == running && since_ && why == RecoveryCause::gave_up;
  if (rebuilt_for_nothing) return end(RecoveryCause::peer, RecoveryAction::release);
  end(RecoveryCause::peer);
}

void Recovery::psn_read(Instant, std::optional<std::uint32_t> expected) {
  if (read_ != Work::given) return;
  read_ = Work::done;
  if (expected) own_.expected.psn = *expected;
  unsaid_ = true;
}

void Recovery::judged(Instant, RecoveryRefusal refusal, const ReplayNeeds& needs) {
  if (judge_ != Work::given) return;
  judge_ = Work::done;
  own_.refusal = refusal;
  own_.verdict = refusal == RecoveryRefusal::none ? RecoveryVerdict::yes : RecoveryVerdict::no;
  own_.begun = needs.begun_receive;
  needs_ = needs;
  unsaid_ = true;
  if (refusal != RecoveryRefusal::none) end(RecoveryCause::refused);
}

void Recovery::drained(Instant, std::uint32_t generation, std::optional<std::uint32_t> expected, std::uint64_t next_psn, std::uint32_t random) {
  if (expected) own_.expected.psn = *expected;
  if (generation != own_.generation || drain_ != Work::given) return;
  drain_ = Work::done;
  // Beyond what was announced for a life that we never entered, too: the other may have, and its answers from there must be behind.
  new_psn_ = next_life_psn(std::max(next_psn, new_psn_), random);
  own_.new_psn = wire_psn(new_psn_);
  enter(known);
}

// The other end may not have left the old life when the next generation begins: what it was told of it must then still be there.
// A life in which nothing came is not worth that, since the other end knows that from its number alone.
bool Recovery::rebuilding(std::uint32_t generation) {
  if (generation != own_.generation || own_.phase != known || rebuild_ != Work::given) return false;
  if (own_.expected.life == 0 || own_.expected.psn != base_psn_) own_.expected_before = own_.expected;
  own_.expected.life = own_.generation;
  own_.expected.psn = base_psn_ = peer_.new_psn;
  return true;
}

void Recovery::rebuilt(Instant now, std::uint32_t generation, bool well, std::uint32_t receives) {
  if (generation != own_.generation || rebuild_ != Work::given) return;
  rebuild_ = Work::done;
  if (!well) return begin(now, own_.generation, own_.cause);
  own_.receives = receives;
  enter(built);
}

void Recovery::refused(RecoveryRefusal refusal) {
  if (!recovering()) return;
  own_.refusal = refusal;
  own_.verdict = RecoveryVerdict::no;
  end(RecoveryCause::refused);
}

void Recovery::receives_posted(Instant, std::uint32_t receives) {
  const bool first = own_.receives == 0 && receives > 0;
  own_.receives = receives;
  unsaid_ = unsaid_ || (first && heard_ && peer_.phase == built);  // it may be waiting for just that
}

void Recovery::carried() {
  if (own_.phase == running) since_.reset();
}

bool Recovery::peer_in(RecoveryPhase phase) const { return heard_ && progress_of(peer_.phase) >= progress_of(phase); }

bool Recovery::give(Work& work) {
  if (work != Work::due) return false;
  work = Work::given;
  return true;
}

RecoveryAction Recovery::next(Instant now) {
  if (recovering() && now - *since_ >= settings_.give_up_after) give_up();
  if (last_action_ != RecoveryAction::none && give(last_)) return last_action_;
  return recovering() ? advance(now) : RecoveryAction::none;
}

RecoveryAction Recovery::advance(Instant now) {
  if (own_.phase == asked) {
    if (give(read_)) return RecoveryAction::read_psn;
    if (peer_in(asked) && read_ == Work::done && give(judge_)) return RecoveryAction::judge;
    const bool agreed = own_.verdict == RecoveryVerdict::yes && (peer_in(known) || (peer_in(asked) && peer_.verdict == RecoveryVerdict::yes));
    if (!agreed || !give(drain_)) return RecoveryAction::none;
    touched_ = true;
    return RecoveryAction::drain;
  }
  if (own_.phase == known) {
    if (peer_in(known) && give(judge_)) return RecoveryAction::judge;
    // A verdict of ASKED rested on a PSN that has moved since. Both need the other's on the final one: who rebuilds alone loses what the
    // other's requests did to its old life.
    const bool agreed = own_.verdict == RecoveryVerdict::yes && (peer_in(built) || (peer_in(known) && peer_.verdict == RecoveryVerdict::yes));
    return agreed && now >= not_before_ && give(rebuild_) ? RecoveryAction::rebuild : RecoveryAction::none;
  }
  // Without receives over there the replay would only be refused again.
  const bool starved = own_.cause == RecoveryCause::receiver_not_ready && needs_.receive && peer_.receives == 0;
  if (!peer_in(built) || starved) return RecoveryAction::none;
  enter(running);
  touched_ = false;
  ran_ = now;
  settle();
  return RecoveryAction::replay;
}

bool Recovery::say(Instant now) {
  if (own_.phase == asked && read_ != Work::done) return false;
  if (!unsaid_ && ((!recovering() && !peer_behind_) || now - said_ < settings_.repeat_every)) return false;
  unsaid_ = peer_behind_ = false;
  said_ = now;
  return true;
}

std::optional<Instant> Recovery::wake_at(Instant now) const {
  const auto again = said_ + settings_.repeat_every;
  if (!recovering()) return peer_behind_ ? std::optional(std::max(now, again)) : std::nullopt;
  auto at = *since_ + settings_.give_up_after;
  if (own_.phase != asked || read_ == Work::done) at = std::min(at, again);
  if (rebuild_ == Work::due && not_before_ > now) at = std::min(at, not_before_);
  return std::max(now, at);
}

}  // namespace rdmend::agent
