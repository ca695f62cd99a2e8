// SPDX-License-Identifier: Apache-2.0
#include "sources/rtneigh.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sources/netlink_walk.hpp"

namespace rdmend::sources::rtneigh {
namespace {

constexpr std::size_t kMostLinkAddress = 32;  // MAX_ADDR_LEN of the kernel; an InfiniBand one has 20 bytes

std::string host_text(int family, Payload value) {
  char out[INET6_ADDRSTRLEN] = "";
  if (value.size() == (family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr))) inet_ntop(family, value.data(), out, sizeof out);
  return out;
}

std::string link_text(Payload value) {
  std::string out;
  if (value.size() > kMostLinkAddress) return out;
  for (const auto byte : value) out += fmt::format("{}{:02x}", out.empty() ? "" : ":", std::to_integer<unsigned>(byte));
  return out;
}

std::optional<ndmsg> fixed_part(Payload payload) {
  ndmsg fixed{};
  if (payload.size() < sizeof fixed) return std::nullopt;
  std::memcpy(&fixed, payload.data(), sizeof fixed);
  // A peer on another port of the same host has an entry too: to the kernel its address is a local one.
  const bool one_host = fixed.ndm_type == RTN_UNICAST || fixed.ndm_type == RTN_LOCAL;
  if ((fixed.ndm_family != AF_INET && fixed.ndm_family != AF_INET6) || fixed.ndm_ifindex <= 0 || !one_host || (fixed.ndm_flags & NTF_PROXY) != 0)
    return std::nullopt;
  return fixed;
}

std::optional<Change> decode_rest(const ndmsg& fixed, Payload payload, bool deleted) {
  Change change;
  auto& entry = change.entry;
  entry.interface_index = static_cast<std::uint32_t>(fixed.ndm_ifindex);
  entry.state = fixed.ndm_state;
  for_each_attribute(payload.subspan(std::min<std::size_t>(MNL_ALIGN(sizeof fixed), payload.size())), [&](int type, Payload value) {
    if (type == NDA_DST) entry.address = host_text(fixed.ndm_family, value);
    if (type == NDA_LLADDR) entry.link_address = link_text(value);
  });
  if (entry.address.empty()) return std::nullopt;
  if (!neighbour_resolved(entry.state)) entry.link_address.clear();
  change.gone = deleted || entry.state == NUD_NONE || entry.state == NUD_NOARP;
  return change;
}

}  // namespace

std::optional<Change> decode(Payload payload, bool deleted) {
  const auto fixed = fixed_part(payload);
  return fixed ? decode_rest(*fixed, payload, deleted) : std::nullopt;
}

Result<Progress> for_each(Payload datagram, std::optional<std::uint32_t> sequence, const std::function<bool(std::uint32_t)>& wanted,
                          const std::function<void(Change)>& visit) {
  while (has_message(datagram)) {
    const auto message = take_message(datagram, "route netlink");
    if (!message) return message.error();
    const auto& header = message->header;
    const auto payload = message->payload;
    if (sequence && header.nlmsg_seq != *sequence) continue;  // the late answer to a request that was given up
    if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
      if (!sequence) continue;
      std::int32_t code = 0;
      if (payload.size() >= sizeof code) std::memcpy(&code, payload.data(), sizeof code);
      if (code < 0 && code > -4096) return errno_error("route netlink", -code);
      return Progress::done;
    }
    if (header.nlmsg_type != RTM_NEWNEIGH && header.nlmsg_type != RTM_DELNEIGH) continue;
    const auto fixed = fixed_part(payload);
    if (!fixed || !wanted(static_cast<std::uint32_t>(fixed->ndm_ifindex))) continue;
    if (auto change = decode_rest(*fixed, payload, header.nlmsg_type == RTM_DELNEIGH)) visit(std::move(*change));
  }
  return Progress::more;
}

std::vector<std::byte> dump_request(std::uint32_t sequence, std::uint32_t interface_index) {
  std::vector<std::byte> buffer(64);
  auto* header = mnl_nlmsg_put_header(buffer.data());
  header->nlmsg_type = RTM_GETNEIGH;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  header->nlmsg_seq = sequence;
  mnl_nlmsg_put_extra_header(header, sizeof(ndmsg));  // of every family
  mnl_attr_put_u32(header, NDA_IFINDEX, interface_index);
  buffer.resize(header->nlmsg_len);
  return buffer;
}

}  // namespace rdmend::sources::rtneigh
