// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rdmend {

// Where one end of a broken connection stands in its recovery. In this order: an end goes on when the other is in the same phase.
enum class RecoveryPhase : std::uint8_t {
  running = 0,  // traffic flows; also the state of a connection that never broke
  asked = 1,    // the errors are withheld, the other end is asked whether it agrees
  known = 2,    // in ERR and drained: rq_psn is final
  built = 3,    // through RESET to RTS with new PSNs, receives posted
  ended = 4,    // no recovery: the application has its error, or has ended the connection
};

// Why an end recovers, or will not.
enum class RecoveryCause : std::uint8_t {
  none = 0,
  transport = 1,          // retries exhausted, or what rxe shows instead when its port goes down
  receiver_not_ready = 2, // RNR retries exhausted: no replay before the other end has receives
  joined = 3,             // the other end asked
  // From here on: a no.
  own_error = 4,          // an error that the program made (access, length, protection) or a flush that was handed out
  application = 5,        // it destroyed, disconnected or reset the QP
  device_fatal = 6,
  refused = 7,            // the decision table, see RecoveryRefusal
  gave_up = 8,            // give_up_after has passed
  peer = 9,               // the other end said no
  other_incarnation = 10, // the other end is not the process that agreed
  not_agreed = 11,        // nothing was agreed when the connection was set up: its errors are nobody's but the application's
};
constexpr bool is_refusal(RecoveryCause cause) { return cause >= RecoveryCause::own_error; }

// What the decision table says of an end's own requests, given the other's rq_psn.
enum class RecoveryRefusal : std::uint8_t {
  none = 0,
  atomic_executed = 1,   // its result is lost
  read_overwritten = 2,  // a later WRITE or atomic of ours changed what it read
  memory_window = 3,     // BIND_MW or LOCAL_INV outstanding
  no_rq_psn = 4,         // the responder's device does not tell what was executed
  psn_window = 5,        // the requests not known complete span more than 2^23
  psn_foreign = 6,       // the expected PSN is of none of our requests
  begun_receive = 7,     // a SEND straddles into an SRQ, and its receive did not come back
};
enum class RecoveryVerdict : std::uint8_t { unknown = 0, yes = 1, no = 2 };

// A responder's expected PSN in a life, which is the generation that built the QP (0: the application did). It always says its life: a
// bare number of the life before or after would be taken for one of this. `live` is false where the device does not tell it.
struct RecoveryPsn {
  std::uint32_t life = 0;
  std::uint32_t psn = 0;  // 24 bit
  bool live = false;

  friend bool operator==(const RecoveryPsn&, const RecoveryPsn&) = default;
};

// The state that an end repeats to the other while it changes, or while the other is behind.
struct RecoveryState {
  std::uint64_t incarnation = 0;  // of the connection's end, a nonce agreed on when it reached RTS
  std::uint32_t generation = 0;
  RecoveryPhase phase = RecoveryPhase::running;
  RecoveryCause cause = RecoveryCause::none;
  RecoveryVerdict verdict = RecoveryVerdict::unknown;  // in KNOWN it rests on the other's final rq_psn, before that on a passing one
  RecoveryRefusal refusal = RecoveryRefusal::none;
  RecoveryPsn expected;           // in the QP's present life
  RecoveryPsn expected_before;    // in the last life before it in which something was received: the other may not have left it
  std::uint32_t new_psn = 0;      // sq_psn of the next life, 24 bit; meaningful from KNOWN on
  std::uint32_t receives = 0;     // posted, from BUILT on
  bool begun = false;             // in KNOWN: a SEND of ours is begun over there, its receive must have come back

  friend bool operator==(const RecoveryState&, const RecoveryState&) = default;
};

const char* recovery_phase_name(RecoveryPhase phase);
const char* recovery_cause_name(RecoveryCause cause);
const char* recovery_refusal_name(RecoveryRefusal refusal);

}  // namespace rdmend
