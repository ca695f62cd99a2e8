// SPDX-License-Identifier: Apache-2.0
// What an agent and a peer's daemon read of a recovery: what is accepted is the one encoding of what it means, and whatever it says, the
// machine that hears it stays within its phases.
#include <algorithm>

#include "agent/recovery.hpp"
#include "fuzz/entry.hpp"
#include "wire/recovery.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span packet{reinterpret_cast<const std::byte*>(data), size};
  const auto message = wire::decode_recovery(packet);
  if (!message) return 0;
  fuzz::demand(std::ranges::equal(wire::encode(*message), packet), "decoded and encoded again it is the same packet");
  const Instant now{seconds{1}};
  agent::Recovery machine({}, 1);
  machine.agreed(message->state.incarnation);
  machine.heard(now, message->state);
  for (int turn = 0; turn < 8; ++turn) {
    fuzz::demand(machine.state().phase <= RecoveryPhase::known || machine.flows(), "nothing that one message says takes a QP past ERR, whose owner has said nothing");
    const auto action = machine.next(now);
    if (action == agent::RecoveryAction::read_psn) machine.psn_read(now, 5);
    if (action == agent::RecoveryAction::judge) machine.judged(now, RecoveryRefusal::none);
    if (action == agent::RecoveryAction::drain) break;
  }
  return 0;
}
