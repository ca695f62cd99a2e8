// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/result.hpp"
#include "netlink.hpp"
#include "wire/hand.hpp"

namespace rdmend::hand {

// Route netlink, for ARP and ND entries alone; opened before the sandbox closes. Blocking: a request
// waits for whoever holds the lock of the network configuration.
class RouteNetlink {
 public:
  // `may_change`: this process has CAP_NET_ADMIN.
  static Result<RouteNetlink> open(bool may_change);
  // Answers a request of a kind that has neighbours.
  wire::HandReply answer(const wire::HandRequest& request);

 private:
  RouteNetlink(Netlink netlink, bool may_change) : netlink_(std::move(netlink)), may_change_(may_change) {}
  wire::HandNeighbourReply treat(const wire::HandNeighbour& neighbour, bool refresh);
  struct Entry {
    std::uint16_t state = 0;         // NUD_*
    std::uint8_t flags = 0;          // NTF_*
    std::uint32_t more_flags = 0;    // NTF_EXT_*
  };
  Result<Entry> read(const wire::HandNeighbour& neighbour);
  // What the kernel does with an entry that somebody uses: an unresolved one is asked for again by broadcast, a resolved one's
  // owner whether it is still there.
  Result<void> resolve_again(const wire::HandNeighbour& neighbour, const Entry& entry);
  Result<std::optional<Entry>> ask(nlmsghdr* request);
  static int take_entry(const nlmsghdr* message, void* entry);

  Netlink netlink_;
  bool may_change_;
};

}  // namespace rdmend::hand
