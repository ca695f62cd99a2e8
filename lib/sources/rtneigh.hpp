// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "model/neighbour.hpp"

// Route netlink's messages about neighbours (include/uapi/linux/neighbour.h): bytes <-> model, no socket. Nothing that is
// decoded trusts a length; a message that tells no IPv4 or IPv6 address of one host is passed over.
namespace rdmend::sources::rtneigh {

struct Change {
  Neighbour entry;
  bool gone = false;  // there is no such entry any more, or none that is ever resolved
};
using Payload = std::span<const std::byte>;
// Of the payload of an RTM_NEWNEIGH or RTM_DELNEIGH.
std::optional<Change> decode(Payload payload, bool deleted);

enum class Progress { more, done };  // of a dump
// Calls `visit` with each change in the datagram that is on a network device `wanted`. With a sequence number: of the dump that
// bears it, whose failure is the result's error; without: of everybody's.
Result<Progress> for_each(Payload datagram, std::optional<std::uint32_t> sequence, const std::function<bool(std::uint32_t)>& wanted,
                          const std::function<void(Change)>& visit);

// Asks for all entries on one network device.
std::vector<std::byte> dump_request(std::uint32_t sequence, std::uint32_t interface_index);

}  // namespace rdmend::sources::rtneigh
