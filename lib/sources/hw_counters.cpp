// SPDX-License-Identifier: Apache-2.0
#include "sources/hw_counters.hpp"

#include <rdma/rdma_netlink.h>

#include <cerrno>

#include "base/text.hpp"

namespace rdmend::sources {

bool netlink_is_no_way(int error) { return error == EMSGSIZE || means_absent(error); }

CounterReading HwCounterReader::read(int device_dir, NlSocket* socket, std::uint32_t index, Instant now) {
  through_netlink_ = false;
  if (socket == nullptr || !netlink_) return dir_.read(device_dir, now);
  if (!patience_.due(now)) return {};
  auto counters = socket->get<nldev::Counters>({.command = RDMA_NLDEV_CMD_STAT_GET, .device = index, .port = port_}, nldev::decode_counters);
  CounterReading reading;
  if (counters) {
    through_netlink_ = true;
    patience_.answered();
    reading.values = std::move(*counters);
    return reading;
  }
  if (netlink_is_no_way(counters.error().code)) {
    netlink_ = false;
    return dir_.read(device_dir, now);
  }
  patience_.failed(counters.error().code, now);
  reading.faults.push_back({"hw_counters", counters.error().code});
  return reading;
}

}  // namespace rdmend::sources
