// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "model/recovery.hpp"

// The decision table: what becomes of each request of a send queue when its connection is rebuilt.
namespace rdmend::agent {

enum class RequestKind : std::uint8_t { write, write_with_imm, send, read, atomic, memory_window };  // the last: BIND_MW, LOCAL_INV

// A request that is not known to have completed, as the shadow queue holds it.
struct Request {
  RequestKind kind = RequestKind::send;
  bool signalled = true;
  bool replay_safe = false;  // declared by the application: twice does no harm
  bool posted = true;        // to the device since the last final judgement; else nobody has seen it since then
  bool executed = false;     // by an earlier judgement; it waits for a READ before it
  std::uint64_t first_psn = 0, psns = 1;  // as posted
  std::uint64_t remote_address = 0;
  std::uint32_t length = 0;   // whole
  std::uint32_t skipped = 0;  // its first bytes, which an earlier life executed
};

enum class Fate : std::uint8_t { complete, replay, replay_rest, refuse_executed_atomic, refuse_no_psn, refuse_memory_window };
// What the PSN says of a request.
enum class Progress : std::uint8_t { executed, straddles, not_begun, untold };

struct Decision {
  Fate fate = Fate::replay;
  bool waits = false;   // complete it only when the READ replayed before it has completed
  bool signal = false;  // replay it signalled, and swallow the completion: what waits behind it needs to be released
  bool begun = false;   // a SEND that straddles: the other end has begun a receive with it
  std::uint32_t skip = 0;  // bytes, from the whole request's beginning, that are not sent again
};

// What the replay needs of the other end.
struct ReplayNeeds {
  bool begun_receive = false;  // the receive that a SEND of ours has begun is to be posted again, and first
  bool receive = false;        // the first request that is not executed takes a receive
  bool nothing = false;        // there is nothing to replay
};

// What the responder tells of the life that the requests were posted in.
struct Told {
  bool foreign = false;              // of another life, which cannot be
  bool live = false;                 // the device tells its PSN
  std::optional<std::uint32_t> psn;  // none, though live: nothing of this life came to it
};
Told told_of(std::uint32_t life, const RecoveryState& responder);

// The requests' numbering: the first PSN not known to be acknowledged (at most the first request's) and the next to be given.
struct Numbering {
  std::uint64_t oldest = 0, next = 0;
  std::uint32_t path_mtu = 1024;
};

Fate fate_of(RequestKind kind, Progress progress, bool replay_safe);

// One decision a request, oldest first; `decisions` is as long as `requests`. What it answers with is why there is no recovery.
RecoveryRefusal judge(std::span<const Request> requests, const Numbering& numbering, const Told& told, std::span<Decision> decisions);
ReplayNeeds needs_of(std::span<const Request> requests, std::span<const Decision> decisions);

}  // namespace rdmend::agent
