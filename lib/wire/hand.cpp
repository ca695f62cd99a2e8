// SPDX-License-Identifier: Apache-2.0
#include "wire/hand.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/bytes.hpp"

namespace rdmend::wire {
namespace {

// version 16, type 16, length of the whole packet 32; the body follows.
constexpr std::size_t kHeader = 8;
constexpr std::size_t kLengthAt = 4;
enum class Type : std::uint16_t { request = 1, reply = 2 };
constexpr std::uint32_t kMost24 = 0xffffff;
constexpr std::uint8_t kMostTimer = 31;

Writer begin(Type type) {
  Writer out;
  out.put(kHandVersion);
  out.put(static_cast<std::uint16_t>(type));
  out.put(std::uint32_t{0});
  return out;
}

Result<std::vector<std::byte>> finish(Writer out) {
  if (out.size() > kHandMostBytes)
    return Error{fmt::format("a message of {} bytes is over the limit of {}", out.size(), kHandMostBytes)};
  out.patch(kLengthAt, static_cast<std::uint32_t>(out.size()));
  return out.take();
}

Result<void> check_header(Reader& in, std::size_t size, Type type) {
  if (size < kHeader || size > kHandMostBytes)
    return Error{fmt::format("a packet of {} bytes is no message", size)};
  if (const auto version = in.get<std::uint16_t>(); version != kHandVersion)
    return Error{fmt::format("version {} of the messages is not known, only {} is", version, kHandVersion)};
  if (const auto got = in.get<std::uint16_t>(); got != static_cast<std::uint16_t>(type))
    return Error{fmt::format("a message of type {} was not expected", got)};
  if (const auto length = in.get<std::uint32_t>(); length != size)
    return Error{fmt::format("the message says it has {} bytes, the packet has {}", length, size)};
  return {};
}

void put(Writer& out, const QpAttributes& a) {
  for (const auto byte :
       {a.state, a.port, a.path_mtu, a.timeout, a.retry_cnt, a.rnr_retry, a.min_rnr_timer, a.path_mig_state})
    out.put(byte);
  for (const auto word : {a.dest_qpn, a.rq_psn, a.sq_psn}) out.put(word);
  out.put_bytes(a.remote_gid);
  out.put_bool(a.global);
}

QpAttributes get_attributes(Reader& in) {
  QpAttributes a;
  for (auto* byte : {&a.state, &a.port, &a.path_mtu, &a.timeout, &a.retry_cnt, &a.rnr_retry, &a.min_rnr_timer,
                     &a.path_mig_state})
    *byte = in.get<std::uint8_t>();
  for (auto* word : {&a.dest_qpn, &a.rq_psn, &a.sq_psn}) *word = in.get<std::uint32_t>();
  in.get_bytes(a.remote_gid);
  a.global = in.get_bool();
  return a;
}

void put(Writer& out, const std::optional<QpAttributes>& a) {
  out.put_bool(a.has_value());
  if (a) put(out, *a);
}

std::optional<QpAttributes> get_optional(Reader& in) {
  if (!in.get_bool()) return std::nullopt;
  return get_attributes(in);
}

void put(Writer& out, const HandQp& qp) {
  for (const auto word : {qp.qpn, qp.pid, qp.remote_qpn, qp.rq_psn, qp.sq_psn}) out.put(word);
  out.put(qp.state);
  out.put(qp.new_min_rnr_timer);
  put(out, qp.expected);
}

HandQp get_qp(Reader& in) {
  HandQp qp;
  for (auto* word : {&qp.qpn, &qp.pid, &qp.remote_qpn, &qp.rq_psn, &qp.sq_psn})
    *word = in.get<std::uint32_t>();
  qp.state = in.get<std::uint8_t>();
  qp.new_min_rnr_timer = in.get<std::uint8_t>();
  qp.expected = get_optional(in);
  if (qp.qpn > kMost24 || qp.remote_qpn > kMost24 || qp.rq_psn > kMost24 || qp.sq_psn > kMost24 ||
      qp.new_min_rnr_timer > kMostTimer)
    in.fail();
  return qp;
}

HandQpReply get_qp_reply(Reader& in) {
  HandQpReply qp;
  qp.qpn = in.get<std::uint32_t>();
  qp.tgid = in.get<std::uint32_t>();
  qp.before = get_optional(in);
  qp.after = get_optional(in);
  qp.error = in.get_string(kHandMostError);
  return qp;
}

void put(Writer& out, const HandNeighbour& neighbour) {
  out.put(neighbour.interface_index);
  out.put_bool(neighbour.v6);
  out.put_bytes(neighbour.address);
}

HandNeighbour get_neighbour(Reader& in) {
  HandNeighbour neighbour;
  neighbour.interface_index = in.get<std::uint32_t>();
  neighbour.v6 = in.get_bool();
  in.get_bytes(neighbour.address);
  const bool rest = std::any_of(neighbour.address.begin() + 4, neighbour.address.end(), [](auto byte) { return byte != 0; });
  if (neighbour.interface_index == 0 || neighbour.interface_index > INT32_MAX || (!neighbour.v6 && rest)) in.fail();
  return neighbour;
}

HandNeighbourReply get_neighbour_reply(Reader& in) {
  HandNeighbourReply reply;
  reply.state = in.get<std::uint16_t>();
  reply.error = in.get_string(kHandMostError);
  return reply;
}

// Reads `count` (16 bit) and so many items. Nothing is reserved for a count that the bytes cannot hold.
template <class T, class Get>
std::vector<T> get_list(Reader& in, std::size_t most, Get get) {
  const std::size_t count = in.get<std::uint16_t>();
  if (count > most) in.fail();
  std::vector<T> items;
  for (std::size_t i = 0; i < count && !in.failed(); ++i) items.push_back(get(in));
  return items;
}

bool plain_name(std::string_view name) {
  return name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Error malformed() {
  return Error{"the message is malformed"};
}

}  // namespace

HandQp hand_qp(const QpInfo& qp) {
  HandQp out;
  out.qpn = qp.qpn;
  out.pid = qp.pid;
  out.remote_qpn = qp.remote_qpn.value_or(0);
  out.state = qp.state;
  out.rq_psn = qp.rq_psn.value_or(0);
  out.sq_psn = qp.sq_psn.value_or(0);
  return out;
}

Result<std::vector<std::byte>> encode(const HandRequest& request) {
  if (request.qps.size() > kHandMostQps)
    return Error{
        fmt::format("{} QPs in one request, at most {} are allowed", request.qps.size(), kHandMostQps)};
  if (request.neighbours.size() > kHandMostNeighbours || (!request.neighbours.empty() && !about_neighbours(request.kind)))
    return Error{fmt::format("{} neighbours in one request, at most {} are allowed", request.neighbours.size(), about_neighbours(request.kind) ? kHandMostNeighbours : 0)};
  if (request.device.size() > kHandMostDevice || !plain_name(request.device))
    return Error{"that is no device's name"};
  auto out = begin(Type::request);
  out.put(static_cast<std::uint8_t>(request.kind));
  out.put(request.id);
  out.put(request.device_index);
  out.put_string(request.device, kHandMostDevice);
  out.put(static_cast<std::uint16_t>(request.qps.size()));
  for (const auto& qp : request.qps) put(out, qp);
  if (about_neighbours(request.kind)) {
    out.put(static_cast<std::uint16_t>(request.neighbours.size()));
    for (const auto& neighbour : request.neighbours) put(out, neighbour);
  }
  return finish(std::move(out));
}

Result<std::vector<std::byte>> encode(const HandReply& reply) {
  if (reply.qps.size() > kHandMostQps)
    return Error{fmt::format("{} QPs in one reply, at most {} are allowed", reply.qps.size(), kHandMostQps)};
  if (reply.neighbours.size() > kHandMostNeighbours)
    return Error{fmt::format("{} neighbours in one reply, at most {} are allowed", reply.neighbours.size(), kHandMostNeighbours)};
  auto out = begin(Type::reply);
  out.put(reply.id);
  out.put(reply.held_nanoseconds);
  out.put_string(reply.error, kHandMostError);
  out.put(static_cast<std::uint16_t>(reply.qps.size()));
  for (const auto& qp : reply.qps) {
    out.put(qp.qpn);
    out.put(qp.tgid);
    put(out, qp.before);
    put(out, qp.after);
    out.put_string(qp.error, kHandMostError);
  }
  if (!reply.neighbours.empty()) {
    out.put(static_cast<std::uint16_t>(reply.neighbours.size()));
    for (const auto& neighbour : reply.neighbours) {
      out.put(neighbour.state);
      out.put_string(neighbour.error, kHandMostError);
    }
  }
  return finish(std::move(out));
}

Result<HandRequest> decode_request(std::span<const std::byte> packet) {
  Reader in(packet);
  if (const auto header = check_header(in, packet.size(), Type::request); !header) return header.error();
  HandRequest request;
  const auto kind = in.get<std::uint8_t>();
  if (kind < 1 || kind > 5) return Error{fmt::format("a request of kind {} is not known", kind)};
  request.kind = static_cast<HandRequest::Kind>(kind);
  request.id = in.get<std::uint32_t>();
  request.device_index = in.get<std::uint32_t>();
  request.device = in.get_string(kHandMostDevice);
  request.qps = get_list<HandQp>(in, kHandMostQps, get_qp);
  if (about_neighbours(request.kind)) request.neighbours = get_list<HandNeighbour>(in, kHandMostNeighbours, get_neighbour);
  if (in.failed() || in.left() > 0 || !plain_name(request.device)) return malformed();
  return request;
}

Result<HandReply> decode_reply(std::span<const std::byte> packet) {
  Reader in(packet);
  if (const auto header = check_header(in, packet.size(), Type::reply); !header) return header.error();
  HandReply reply;
  reply.id = in.get<std::uint32_t>();
  reply.held_nanoseconds = in.get<std::uint64_t>();
  reply.error = in.get_string(kHandMostError);
  reply.qps = get_list<HandQpReply>(in, kHandMostQps, get_qp_reply);
  if (in.left() > 0) {
    reply.neighbours = get_list<HandNeighbourReply>(in, kHandMostNeighbours, get_neighbour_reply);
    if (reply.neighbours.empty()) in.fail();
  }
  if (in.failed() || in.left() > 0) return malformed();
  return reply;
}

}  // namespace rdmend::wire
