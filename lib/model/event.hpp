// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/clock.hpp"

namespace rdmend {

// An event of a device, as an operator would tell it: `rdmendctl events` lists these.
struct Event {
  Timestamp at{};
  std::string device;
  std::string port;    // "" when it concerns the device
  std::string kind;    // "PORT_ERR", "device_added", "device_removed", "device_renamed", "counter_reset", ...
  std::string detail;  // words for a person, may be empty
};

}  // namespace rdmend
