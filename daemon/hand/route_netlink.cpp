// SPDX-License-Identifier: Apache-2.0
#include "route_netlink.hpp"

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rdmend::hand {
namespace {

constexpr auto kMayNot =
    "rdmend-hand lacks CAP_NET_ADMIN, without which it changes no neighbour entry (rdmend-hand-refresh_neighbour.conf grants it)";
constexpr std::size_t kRouteRequest = 256;
constexpr std::size_t kRouteReceive = std::size_t{32} * 1024;

ndmsg* begin_neighbour(std::array<char, kRouteRequest>& buffer, std::uint16_t type, std::uint16_t flags, const wire::HandNeighbour& neighbour) {
  auto* header = mnl_nlmsg_put_header(buffer.data());
  header->nlmsg_type = type;
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  auto* fixed = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ndmsg)));
  fixed->ndm_family = static_cast<std::uint8_t>(neighbour.v6 ? AF_INET6 : AF_INET);
  fixed->ndm_ifindex = static_cast<std::int32_t>(neighbour.interface_index);
  mnl_attr_put(header, NDA_DST, neighbour.v6 ? 16 : 4, neighbour.address.data());
  return fixed;
}

int read_state(const nlmsghdr* message, void* data) {
  if (message->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(message) < sizeof(ndmsg)) return MNL_CB_OK;
  *static_cast<std::optional<std::uint16_t>*>(data) = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(message))->ndm_state;
  return MNL_CB_OK;
}

}  // namespace

Result<RouteNetlink> RouteNetlink::open(bool may_change) {
  RouteNetlink netlink(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC), may_change);
  if (!netlink.socket_) return errno_error("route netlink", errno);
  if (mnl_socket_bind(netlink.socket_.get(), 0, MNL_SOCKET_AUTOPID) != 0) return errno_error("route netlink", errno);
  const timeval limit{2, 0};
  if (setsockopt(mnl_socket_get_fd(netlink.socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
    return errno_error("route netlink", errno);
  return netlink;
}

// Every request asks for an acknowledgement, so that each answer has an end.
Result<std::optional<std::uint16_t>> RouteNetlink::ask(nlmsghdr* request) {
  request->nlmsg_seq = ++sequence_;
  request->nlmsg_flags = static_cast<std::uint16_t>(request->nlmsg_flags | NLM_F_ACK);
  if (mnl_socket_sendto(socket_.get(), request, request->nlmsg_len) < 0) return errno_error("route netlink", errno);
  const auto id = mnl_socket_get_portid(socket_.get());
  std::optional<std::uint16_t> state;
  std::array<char, kRouteReceive> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (true) {
    const auto got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (got < 0) return errno_error("route netlink", errno);
    // What is left of an answer that was given up must not be taken for this one's.
    if (static_cast<std::size_t>(got) >= sizeof(nlmsghdr) && reinterpret_cast<const nlmsghdr*>(buffer.data())->nlmsg_seq != sequence_) continue;
    const int more = mnl_cb_run(buffer.data(), static_cast<std::size_t>(got), sequence_, id, read_state, &state);
    if (more < 0) return errno_error("route netlink", errno);
    if (more == MNL_CB_STOP) return state;
  }
}

Result<std::uint16_t> RouteNetlink::state_of(const wire::HandNeighbour& neighbour) {
  std::array<char, kRouteRequest> buffer{};
  begin_neighbour(buffer, RTM_GETNEIGH, 0, neighbour);
  const auto state = ask(reinterpret_cast<nlmsghdr*>(buffer.data()));
  if (!state) return state.error().code == ENOENT ? Error{"there is no such entry any more", ENOENT} : state.error();
  if (!*state) return Error{"the kernel tells nothing of the entry", EBADMSG};
  return **state;
}

Result<void> RouteNetlink::resolve_again(const wire::HandNeighbour& neighbour, std::uint16_t state) {
  std::array<char, kRouteRequest> buffer{};
  auto* fixed = begin_neighbour(buffer, RTM_NEWNEIGH, 0, neighbour);  // without NLM_F_CREATE: what has gone meanwhile is not made anew
  // Only what has a link address can be probed.
  if ((state & (NUD_FAILED | NUD_INCOMPLETE)) != 0)
    fixed->ndm_flags = NTF_USE;
  else
    fixed->ndm_state = NUD_PROBE;
  const auto done = ask(reinterpret_cast<nlmsghdr*>(buffer.data()));
  if (!done) return done.error();
  return {};
}

wire::HandNeighbourReply RouteNetlink::treat(const wire::HandNeighbour& neighbour, bool refresh) {
  wire::HandNeighbourReply reply;
  const auto state = state_of(neighbour);
  if (!state) {
    reply.error = state.error().message;
    return reply;
  }
  reply.state = *state;
  if ((*state & (NUD_PERMANENT | NUD_NOARP)) != 0) {
    reply.error = "the entry was set by hand and is not resolved";
  } else if (refresh) {
    if (const auto done = resolve_again(neighbour, *state); !done) reply.error = done.error().message;
  }
  return reply;
}

wire::HandReply RouteNetlink::answer(const wire::HandRequest& request) {
  wire::HandReply reply;
  reply.id = request.id;
  if (!may_change_) {
    reply.error = kMayNot;
    return reply;
  }
  const bool refresh = request.kind == wire::HandRequest::Kind::refresh_neighbours;
  for (const auto& neighbour : request.neighbours) reply.neighbours.push_back(treat(neighbour, refresh));
  return reply;
}

}  // namespace rdmend::hand
