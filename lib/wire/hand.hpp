// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/qp.hpp"

// The messages between rdmend and rdmend-hand, over a SOCK_SEQPACKET pair: one message a packet, little-endian, version and
// length first, every list and string capped. Decoding never trusts a length.
namespace rdmend::wire {

inline constexpr std::uint16_t kHandVersion = 1;
inline constexpr std::size_t kHandMostQps = 4096;        // of one request
inline constexpr std::size_t kHandMostBytes = 512U * 1024;  // of one packet

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
};
struct HandRequest {
  enum class Kind : std::uint8_t { query = 1, modify_min_rnr_timer = 2, probe = 3 };  // probe: may the hand act here at all?
  Kind kind = Kind::query;
  std::uint32_t id = 0;
  std::uint32_t device_index = 0;
  std::string device;  // "rxe1"
  std::vector<HandQp> qps;
};
struct HandQpReply {
  std::uint32_t qpn = 0;
  std::uint32_t tgid = 0;            // the process that owns it
  std::optional<QpAttributes> before;  // as read
  std::optional<QpAttributes> after;   // as read again after a modify
  std::string error;                   // "" when it went well; else one sentence
};
struct HandReply {
  std::uint32_t id = 0;
  std::string error;  // the whole request failed
  std::vector<HandQpReply> qps;
  std::uint64_t held_nanoseconds = 0;  // how long foreign descriptors were held, at most
};

Result<std::vector<std::byte>> encode(const HandRequest& request);
Result<std::vector<std::byte>> encode(const HandReply& reply);
Result<HandRequest> decode_request(std::span<const std::byte> packet);
Result<HandReply> decode_reply(std::span<const std::byte> packet);

}  // namespace rdmend::wire
