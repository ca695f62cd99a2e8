// SPDX-License-Identifier: Apache-2.0
#include "route_netlink.hpp"

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

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

int take_more_flags(const nlattr* field, void* flags) {
  if (mnl_attr_get_type(field) == NDA_FLAGS_EXT && mnl_attr_validate(field, MNL_TYPE_U32) == 0) *static_cast<std::uint32_t*>(flags) = mnl_attr_get_u32(field);
  return MNL_CB_OK;
}

}  // namespace

Result<RouteNetlink> RouteNetlink::open(bool may_change) {
  auto netlink = Netlink::open(NETLINK_ROUTE, "route netlink", std::chrono::seconds{2});
  if (!netlink) return netlink.error();
  return RouteNetlink(std::move(*netlink), may_change);
}

// Every request asks for an acknowledgement, so that each answer has an end.
Result<std::optional<RouteNetlink::Entry>> RouteNetlink::ask(nlmsghdr* request) {
  request->nlmsg_flags = static_cast<std::uint16_t>(request->nlmsg_flags | NLM_F_ACK);
  std::optional<Entry> entry;
  std::array<char, kRouteReceive> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  if (const auto asked = netlink_.ask(request, buffer, take_entry, &entry); !asked) return asked.error();
  return entry;
}

int RouteNetlink::take_entry(const nlmsghdr* message, void* entry) {
  if (message->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(message) < sizeof(ndmsg)) return MNL_CB_OK;
  const auto* fixed = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(message));
  Entry found{fixed->ndm_state, fixed->ndm_flags, 0};
  mnl_attr_parse(message, sizeof(ndmsg), take_more_flags, &found.more_flags);
  *static_cast<std::optional<Entry>*>(entry) = found;
  return MNL_CB_OK;
}

Result<RouteNetlink::Entry> RouteNetlink::read(const wire::HandNeighbour& neighbour) {
  std::array<char, kRouteRequest> buffer{};
  begin_neighbour(buffer, RTM_GETNEIGH, 0, neighbour);
  const auto entry = ask(reinterpret_cast<nlmsghdr*>(buffer.data()));
  if (!entry) return entry.error().code == ENOENT ? Error{"there is no such entry any more", ENOENT} : entry.error();
  if (!*entry) return Error{"the kernel tells nothing of the entry", EBADMSG};
  return **entry;
}

Result<void> RouteNetlink::resolve_again(const wire::HandNeighbour& neighbour, const Entry& entry) {
  std::array<char, kRouteRequest> buffer{};
  auto* fixed = begin_neighbour(buffer, RTM_NEWNEIGH, 0, neighbour);  // without NLM_F_CREATE: what has gone meanwhile is not made anew
  // Whom the entry belongs to (a routing daemon's, one that the kernel keeps fresh) it would lose, were it not said again.
  fixed->ndm_flags = static_cast<std::uint8_t>(entry.flags & NTF_EXT_LEARNED);
  if (const auto managed = entry.more_flags & NTF_EXT_MANAGED; managed != 0)
    mnl_attr_put_u32(reinterpret_cast<nlmsghdr*>(buffer.data()), NDA_FLAGS_EXT, managed);
  // Only what has a link address can be probed.
  if ((entry.state & (NUD_FAILED | NUD_INCOMPLETE)) != 0)
    fixed->ndm_flags = static_cast<std::uint8_t>(fixed->ndm_flags | NTF_USE);
  else
    fixed->ndm_state = NUD_PROBE;
  const auto done = ask(reinterpret_cast<nlmsghdr*>(buffer.data()));
  if (!done) return done.error();
  return {};
}

wire::HandNeighbourReply RouteNetlink::treat(const wire::HandNeighbour& neighbour, bool refresh) {
  wire::HandNeighbourReply reply;
  const auto entry = read(neighbour);
  if (!entry) {
    reply.error = entry.error().message;
    return reply;
  }
  reply.state = entry->state;
  if ((entry->state & (NUD_PERMANENT | NUD_NOARP)) != 0) {
    reply.error = "the entry was set by hand and is not resolved";
  } else if (refresh) {
    if (const auto done = resolve_again(neighbour, *entry); !done) reply.error = done.error().message;
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
