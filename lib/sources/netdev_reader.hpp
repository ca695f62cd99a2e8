// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sources/counter_dir.hpp"
#include "sources/netdev_calls.hpp"

namespace rdmend::sources {

// Statistics of one queue ("rx3_packets", "rx_queue_0_drops") tell nothing of RDMA, and a device has thousands of them.
bool is_of_one_queue(std::string_view name);

// A port and its network device.
struct PortNetdev {
  std::string port, netdev;
};
struct NetdevReading {
  std::string port;
  CounterReading ethtool, dcb;
};

// Reads what the network devices of one RDMA device's ports count; lives in a worker of its own, since whoever holds the lock
// of the network configuration (a firmware that is being reset) holds up all of this. A device that has no such counters (a
// virtual function, siw's loopback) is no error.
class NetdevReader {
 public:
  explicit NetdevReader(std::shared_ptr<NetdevCalls> calls) : calls_(std::move(calls)) {}
  std::vector<NetdevReading> read(const std::vector<PortNetdev>& ports, Instant now);

  static constexpr auto kRename = std::chrono::minutes{1};  // the names are asked for anew

 private:
  struct Known {
    std::vector<std::string> names;
    Instant named_until{};
    Patience ethtool{}, dcb{};
  };
  CounterReading read_ethtool(const std::string& netdev, Known& known, Instant now);
  CounterReading read_dcb(const std::string& netdev, Known& known, Instant now);
  std::shared_ptr<NetdevCalls> calls_;
  std::map<std::string, Known> known_;  // by network device
};

}  // namespace rdmend::sources
