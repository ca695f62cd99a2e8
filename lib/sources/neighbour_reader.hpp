// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "sources/kernel_listener.hpp"
#include "sources/rtneigh.hpp"

namespace rdmend::sources {

// An RDMA port and its network device.
struct NeighbourPort {
  std::string device, port, netdev;
  friend bool operator==(const NeighbourPort&, const NeighbourPort&) = default;
};
// A network device whose neighbours are a port's: the port's own, or one above it (a VLAN, a bond, a bridge).
struct NeighbourInterface {
  std::uint32_t index = 0;
  std::string netdev;
  NeighbourPort of;
};
struct NeighbourReading {
  int error = 0;  // errno: the entries could not be read
  std::vector<NeighbourInterface> interfaces;
  std::vector<Neighbour> entries;
  bool truncated = false;  // there are more than kMostNeighbours, or more than kMostInterfaces network devices
};

inline constexpr std::size_t kMostNeighbours = 4096;  // of the host, on the network devices of RDMA ports
inline constexpr std::size_t kMostInterfaces = 256;   // of all RDMA ports together

// Reads all neighbours of the ports. A dump waits for whoever holds the lock of the network configuration (a firmware that is
// being reset), so this lives in a worker.
class NeighbourReader {
 public:
  explicit NeighbourReader(std::string sysfs) : sysfs_(std::move(sysfs)) {}
  NeighbourReading read(const std::vector<NeighbourPort>& ports);

 private:
  int open();
  void find(const std::string& netdev, const NeighbourPort& port, int depth, NeighbourReading& into) const;
  int dump(std::uint32_t index, NeighbourReading& into);

  std::string sysfs_;
  UniqueFd root_, socket_;
  std::uint32_t sequence_ = 0;
};

// The kernel's own word when an entry changes; it takes no lock of the network configuration, so it is read on the loop.
// `lost` is called when the kernel dropped messages: read everything again.
Result<KernelListener> listen_for_neighbours(Reactor& reactor, std::function<bool(std::uint32_t)> wanted, std::function<void(const rtneigh::Change&)> hear,
                                             std::function<void()> lost);

}  // namespace rdmend::sources
