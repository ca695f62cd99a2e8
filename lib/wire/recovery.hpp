// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/recovery.hpp"

// What the two ends of a connection say to each other while they recover it, from agent to daemon to daemon to agent: one state
// a message, little-endian, of fixed length, version and length first. A lost or doubled one does no harm.
namespace rdmend::wire {

inline constexpr std::uint16_t kRecoveryVersion = 1;
inline constexpr std::size_t kRecoveryBytes = 99;

// One end of a connection, as the other end's QP knows it.
struct RecoveryEnd {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t qpn = 0;  // 24 bit

  friend bool operator==(const RecoveryEnd&, const RecoveryEnd&) = default;
};

struct RecoveryMessage {
  RecoveryEnd from, to;
  std::uint64_t to_incarnation = 0;  // of the end that is meant: another process on the same QPN is not
  RecoveryState state;

  friend bool operator==(const RecoveryMessage&, const RecoveryMessage&) = default;
};

std::vector<std::byte> encode(const RecoveryMessage& message);
Result<RecoveryMessage> decode_recovery(std::span<const std::byte> packet);

}  // namespace rdmend::wire
