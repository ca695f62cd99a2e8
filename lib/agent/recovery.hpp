// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "agent/table.hpp"
#include "base/clock.hpp"
#include "model/recovery.hpp"

// The protocol of one end of a connection. It is state, not commands: each end repeats its state while it changes or the other is
// behind, a lost or doubled message does no harm, there is no leader, and both ends beginning at once merges. A phase ends
// when both ends are in it; a larger generation begins again at the first. Pure: no clock, no memory, no I/O.
namespace rdmend::agent {

struct RecoverySettings {
  nanoseconds give_up_after = seconds{60};
  nanoseconds repeat_every = milliseconds{5};
  nanoseconds first_back_off = milliseconds{10};  // before the second try; doubled each time
  nanoseconds most_back_off = milliseconds{250};
  bool live_psn = true;  // our device tells its expected PSN
};

// What the agent is to do next. Each is said once a phase, and answered with the call named.
enum class RecoveryAction : std::uint8_t {
  none,
  read_psn,  // read rq_psn as it stands -> psn_read
  judge,     // let the table judge our requests by peer()'s PSNs; in KNOWN, where they are final, the decisions are applied -> judged
  drain,     // to ERR, and all that is in the queues out of them, withheld -> drained; then we are in KNOWN
  rebuild,   // rebuilding, then RESET to RTS, with peer().new_psn to expect and new_psn() to send from; receives posted -> rebuilt.
             // If peer().begun, and the receive that was begun did not come back -> refused
  replay,    // send what is due; requests flow -> carried
  resume,    // it came to nothing before our QP was touched: go on as if nothing had been
  release,   // no recovery: to ERR, and the application gets its original error, flushes behind it, as cause() says
};

class Recovery {
 public:
  // Until it is agreed on with the other end, a connection is never held: its errors are the application's at once.
  Recovery(const RecoverySettings& settings, std::uint64_t own_incarnation);
  void agreed(std::uint64_t peer_incarnation);

  // What happens here.
  // A transport error is withheld. RC completes in order, so the error proves that every older request went well, and they are completed.
  void failed(Instant now, RecoveryCause cause);
  void forbidden(Instant now, RecoveryCause cause); // what forbids recovery: an error of the program, destroy, DEVICE_FATAL
  // What is heard was meant for our incarnation: the caller has looked, as it has who says it.
  void heard(Instant now, const RecoveryState& peer);
  // Answers to actions. An answer to an earlier generation's is told by its generation and does not count for this one.
  void psn_read(Instant now, std::optional<std::uint32_t> expected);  // none when the QP is in no life
  void judged(Instant now, RecoveryRefusal refusal, const ReplayNeeds& needs = {});
  // The final rq_psn; none when the QP is in no life (a rebuild failed half way). `next_psn` is the next of ours to be given.
  void drained(Instant now, std::uint32_t generation, std::optional<std::uint32_t> expected, std::uint64_t next_psn, std::uint32_t random);
  // Just before RESET: from here on the old life is history. False when this generation is over, and the QP is to be left alone.
  bool rebuilding(std::uint32_t generation);
  void rebuilt(Instant now, std::uint32_t generation, bool well, std::uint32_t receives);
  void refused(RecoveryRefusal refusal);
  void receives_posted(Instant now, std::uint32_t receives);  // how many are posted now, while a peer waits for some
  void carried();  // a request, or a receive, completed well in this life

  RecoveryAction next(Instant now);
  // Is the state due to be said? Asking counts as saying it.
  bool say(Instant now);
  // When to ask again although nothing happens and no answer is owed.
  [[nodiscard]] std::optional<Instant> wake_at(Instant now) const;

  [[nodiscard]] const RecoveryState& state() const { return own_; }
  [[nodiscard]] const RecoveryState& peer() const { return peer_; }
  [[nodiscard]] RecoveryCause cause() const { return own_.cause; }
  [[nodiscard]] std::uint32_t generation() const { return own_.generation; }
  [[nodiscard]] std::uint64_t new_psn() const { return new_psn_; }  // as 64 bit, in KNOWN and BUILT
  [[nodiscard]] bool recovering() const { return own_.phase != RecoveryPhase::running && own_.phase != RecoveryPhase::ended; }
  // May an error be handed to the application? Not while we recover.
  [[nodiscard]] bool withholds() const { return recovering(); }
  // May the application's requests be posted? While we are only asked our QP is as it was, and they may.
  [[nodiscard]] bool flows() const { return own_.phase == RecoveryPhase::running || (own_.phase == RecoveryPhase::ended ? !released_ : untouched()); }

 private:
  enum class Work : std::uint8_t { due, given, done };  // of an action of this generation

  void begin(Instant now, std::uint32_t generation, RecoveryCause cause);
  void enter(RecoveryPhase phase);
  void end(RecoveryCause cause);
  void end(RecoveryCause cause, RecoveryAction action);
  void take(Instant now, const RecoveryState& peer);
  void peer_ended(RecoveryCause why);
  void give_up();
  void stop();
  void settle();
  [[nodiscard]] bool untouched() const { return own_.phase == RecoveryPhase::asked && !touched_; }
  [[nodiscard]] bool peer_in(RecoveryPhase phase) const;  // or farther, in this generation
  [[nodiscard]] nanoseconds back_off() const;
  RecoveryAction advance(Instant now);
  static bool give(Work& work);

  RecoverySettings settings_;
  std::uint64_t peer_incarnation_ = 0;  // 0: nothing is agreed
  RecoveryState own_, peer_;
  std::uint64_t new_psn_ = 0;
  std::uint32_t base_psn_ = 0;           // what the present life began to expect
  std::uint32_t ran_generation_ = 0;     // in which it last ran
  bool heard_ = false;                   // peer_ is of this generation
  bool touched_ = false;                 // since it last ran: an error of ours is withheld, or our QP has been to ERR
  bool released_ = false;
  ReplayNeeds needs_;                    // of our last judgement
  bool unsaid_ = false, peer_behind_ = false;
  Work read_ = Work::done, judge_ = Work::done, drain_ = Work::done, rebuild_ = Work::done, last_ = Work::done;
  RecoveryAction last_action_ = RecoveryAction::none;  // resume or release
  std::uint32_t tries_ = 0;
  // When the present series of generations began; none when the last one is over, which is so when traffic has flowed, or both ends run
  // and there is nothing to send, or, where nothing is heard of either, after give_up_after.
  std::optional<Instant> since_;
  Instant said_{}, not_before_{}, ran_{};
};

}  // namespace rdmend::agent
