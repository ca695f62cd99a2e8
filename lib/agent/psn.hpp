// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

// Packet sequence numbers. On the wire they are a ring of 2^24, of which half counts as ahead and half as behind; here they
// are kept as 64 bit, so that only what comes from a device or a peer has to be unwrapped.
namespace rdmend::agent {

inline constexpr std::uint64_t kPsnRing = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kPsnMask = kPsnRing - 1;
inline constexpr std::uint64_t kPsnWindow = std::uint64_t{1} << 23;  // what may be outstanding, or behind and ahead are one
inline constexpr std::uint64_t kPsnGap = 4096;

constexpr std::uint32_t wire_psn(std::uint64_t psn) { return static_cast<std::uint32_t>(psn & kPsnMask); }

// From `from` to `to` the shorter way: positive when `to` is ahead.
constexpr std::int32_t psn_distance(std::uint32_t from, std::uint32_t to) {
  return static_cast<std::int32_t>((to - from) << 8) >> 8;
}

// The first PSN at or after `oldest` that looks like `psn`.
constexpr std::uint64_t psn_after(std::uint64_t oldest, std::uint32_t psn) { return oldest + ((psn - oldest) & kPsnMask); }

// How many PSNs a message of that length takes, a READ's response as well; an atomic is asked for as one of 8 bytes.
constexpr std::uint64_t psns_of(std::uint64_t length, std::uint32_t path_mtu) {
  return std::max<std::uint64_t>(1, (length + path_mtu - 1) / path_mtu);
}

// Where the next life begins: a little ahead of all that was ever sent, so that every packet of an earlier life is behind, a
// duplicate. Farther would put old packets ahead, where an old ACK acknowledges everything.
constexpr std::uint64_t next_life_psn(std::uint64_t next_unsent, std::uint32_t random) { return next_unsent + kPsnGap + random % kPsnGap; }

}  // namespace rdmend::agent
