// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "sources/counter_dir.hpp"
#include "sources/nl_socket.hpp"

namespace rdmend::sources {

// The hw counters of one port, or of the device itself. Netlink brings a port's in one message and one driver refresh; where
// the kernel's answer is too small for them (EMSGSIZE) or it has no such counters (EINVAL), sysfs is read from then on.
class HwCounterReader {
 public:
  // Port 0: those of the device, which netlink has not got.
  explicit HwCounterReader(std::uint32_t port)
      : port_(port), netlink_(port != 0), dir_(port == 0 ? std::string("hw_counters") : "ports/" + std::to_string(port) + "/hw_counters") {}
  // `socket` may be null: sysfs alone.
  CounterReading read(int device_dir, NlSocket* socket, std::uint32_t index, Instant now);
  // Where the last reading came from.
  [[nodiscard]] bool through_netlink() const { return through_netlink_; }

 private:
  std::uint32_t port_;
  bool netlink_;
  bool through_netlink_ = false;
  Patience patience_;
  CounterDir dir_;
};

// What the kernel's answer means for the next readings of that port.
bool netlink_is_no_way(int error);

}  // namespace rdmend::sources
