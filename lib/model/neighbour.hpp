// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace rdmend {

// The states of the kernel's ARP and ND entries, its NUD_* bits (include/uapi/linux/neighbour.h); an entry is in one.
enum class NeighbourState : std::uint16_t { incomplete = 0x01, reachable = 0x02, stale = 0x04, delay = 0x08, probe = 0x10, failed = 0x20, noarp = 0x40, permanent = 0x80 };

std::string neighbour_state_name(std::uint16_t state);  // "failed"; "state 3" for none of them
// The kernel knows a link address for it, though perhaps an old one.
bool neighbour_resolved(std::uint16_t state);

// As entries name the address that a queue pair leads to: rdma_cm's IPv6 sockets call an IPv4 peer "::ffff:10.0.0.2".
std::string neighbour_address(const std::string& peer);

// One entry: who is at `address`, as this host knows it.
struct Neighbour {
  std::uint32_t interface_index = 0;  // of the network device that it is on
  std::string address;                // "10.0.0.2", "fe80::2"
  std::uint16_t state = 0;
  std::string link_address;  // "02:00:0a:00:00:02"; "" while it is not resolved

  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

// An entry on the network device of an RDMA port, or on one above that (a VLAN, a bond).
struct PortNeighbour {
  std::string device, port, netdev;  // netdev: the one that the entry is on
  Neighbour entry;
  std::size_t qps = 0;  // connected queue pairs of the port that rdma_cm led there
};

}  // namespace rdmend
