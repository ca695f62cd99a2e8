// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/qp.hpp"

// The messages between rdmend and rdmend-hand, over a SOCK_SEQPACKET pair: one message a packet,
// little-endian, version and length first, every list and string capped. Decoding never trusts a length.
namespace rdmend::wire {

inline constexpr std::uint16_t kHandVersion = 1;
// The caps keep every packet below the 208 KiB that an unprivileged socket sends in one piece
// (net.core.wmem_default).
inline constexpr std::size_t kHandMostQps = 512;  // of one packet; the daemon's side splits larger requests
inline constexpr std::size_t kHandMostBytes = std::size_t{192} * 1024;  // of one packet
inline constexpr std::size_t kHandMostDevice = 64;                      // IB_DEVICE_NAME_MAX
inline constexpr std::size_t kHandMostNeighbours = 64;
inline constexpr std::size_t kHandMostError = 240;  // of one sentence, longer ones are cut

// What the hand reads of a QP that netlink does not tell (struct ib_uverbs_query_qp_resp).
struct QpAttributes {
  std::uint8_t state = 0;
  std::uint8_t port = 0;
  std::uint8_t path_mtu = 0;  // code, IBV_MTU_*
  std::uint8_t timeout = 0, retry_cnt = 0, rnr_retry = 0;
  std::uint8_t min_rnr_timer = 0;  // code
  std::uint8_t path_mig_state = 0;
  std::uint32_t dest_qpn = 0, rq_psn = 0, sq_psn = 0;
  std::uint8_t remote_gid[16] = {};
  bool global = false;  // remote_gid is meaningful

  friend bool operator==(const QpAttributes&, const QpAttributes&) = default;
};

// One QP of a request: which one is meant, and what it must still look like before it is touched.
struct HandQp {
  std::uint32_t qpn = 0;  // netlink's lqpn
  std::uint32_t pid = 0;  // netlink's pid (a thread), 0 when it has ended
  std::uint32_t remote_qpn = 0;
  std::uint8_t state = 0;
  std::uint32_t rq_psn = 0, sq_psn = 0;
  std::optional<QpAttributes> expected;  // from an earlier query; a modify demands that it still holds
  std::uint8_t new_min_rnr_timer = 0;    // modify only

  friend bool operator==(const HandQp&, const HandQp&) = default;
};
// As netlink shows it.
HandQp hand_qp(const QpInfo& qp);

// An ARP or ND entry.
struct HandNeighbour {
  std::uint32_t interface_index = 0;
  bool v6 = false;
  std::array<std::uint8_t, 16> address{};  // the first four bytes of an IPv4 one

  friend bool operator==(const HandNeighbour&, const HandNeighbour&) = default;
};

struct HandRequest {
  // probe: may the hand act here at all? query_neighbours: may it, and how are they?
  enum class Kind : std::uint8_t { query = 1, modify_min_rnr_timer = 2, probe = 3, query_neighbours = 4, refresh_neighbours = 5 };
  Kind kind = Kind::query;
  std::uint32_t id = 0;
  std::uint32_t device_index = 0;
  std::string device;  // "rxe1"
  std::vector<HandQp> qps;
  std::vector<HandNeighbour> neighbours;  // of the two kinds that are about them, and of no other

  friend bool operator==(const HandRequest&, const HandRequest&) = default;
};
struct HandQpReply {
  std::uint32_t qpn = 0;
  std::uint32_t tgid = 0;              // the process that owns it
  std::optional<QpAttributes> before;  // as read
  std::optional<QpAttributes> after;   // as read again after a modify
  std::string error;                   // "" when it went well; else one sentence

  friend bool operator==(const HandQpReply&, const HandQpReply&) = default;
};
struct HandNeighbourReply {
  std::uint16_t state = 0;  // NUD_*, before anything was done; 0 when it could not be read
  std::string error;

  friend bool operator==(const HandNeighbourReply&, const HandNeighbourReply&) = default;
};
struct HandReply {
  std::uint32_t id = 0;
  std::string error;  // the whole request failed
  std::vector<HandQpReply> qps;
  std::vector<HandNeighbourReply> neighbours;  // in the order of the request
  std::uint64_t held_nanoseconds = 0;  // how long foreign descriptors were held, at most

  friend bool operator==(const HandReply&, const HandReply&) = default;
};

inline bool about_neighbours(HandRequest::Kind kind) {
  return kind == HandRequest::Kind::query_neighbours || kind == HandRequest::Kind::refresh_neighbours;
}

// Encoding fails on what the other side would have to refuse: too many QPs, a name that is too long.
Result<std::vector<std::byte>> encode(const HandRequest& request);
Result<std::vector<std::byte>> encode(const HandReply& reply);
Result<HandRequest> decode_request(std::span<const std::byte> packet);
Result<HandReply> decode_reply(std::span<const std::byte> packet);

}  // namespace rdmend::wire
