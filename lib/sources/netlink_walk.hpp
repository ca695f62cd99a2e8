// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "base/result.hpp"

// How the kernel's netlink bytes are walked, whatever the family: no length in them is trusted. libmnl's own loops take whole
// messages for well made.
namespace rdmend::sources {

using NetlinkPayload = std::span<const std::byte>;

struct NetlinkMessage {
  nlmsghdr header{};
  NetlinkPayload payload;  // without the header
};

// Whether another message begins in the datagram.
inline bool has_message(NetlinkPayload datagram) { return datagram.size() >= sizeof(nlmsghdr); }

// Takes the next message off a datagram that has one; an error when it says to be longer than what is there. `family` begins its text.
inline Result<NetlinkMessage> take_message(NetlinkPayload& datagram, const char* family) {
  NetlinkMessage message;
  auto& header = message.header;
  std::memcpy(&header, datagram.data(), sizeof header);
  if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size())
    return Error{std::string(family) + ": a message longer than its datagram", EBADMSG};
  message.payload = datagram.subspan(sizeof header, header.nlmsg_len - sizeof header);
  datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  return message;
}

// Visits each attribute that fits; a length that reaches beyond the payload ends the walk.
template <class Visit>
void for_each_attribute(NetlinkPayload payload, Visit visit) {
  while (payload.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, payload.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > payload.size()) return;
    visit(header.nla_type & NLA_TYPE_MASK, payload.subspan(sizeof header, header.nla_len - sizeof header));
    payload = payload.subspan(std::min<std::size_t>(MNL_ALIGN(header.nla_len), payload.size()));
  }
}

}  // namespace rdmend::sources
