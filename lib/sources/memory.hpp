// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <map>
#include <string>

#include "sources/device_series.hpp"

namespace rdmend::sources {

// What is kept of devices beyond their going: a device is its node GUID and PCI address, its name a label. One that comes back, or
// goes on under another name, counts on; one that takes over a name that another had begins anew.
class Memory {
 public:
  // What the device that is now called `name` shall go on with.
  DeviceSeries begin(const std::string& name, const std::string& key);
  void leave(const std::string& key, DeviceSeries series);

  static constexpr std::size_t kMost = 256;  // devices that have gone; those that have been away longest are forgotten

 private:
  std::map<std::string, DeviceSeries> left_;  // by key
  std::deque<std::string> order_;             // of their going
  std::map<std::string, std::string> had_;    // name: key of the last that had it
};

}  // namespace rdmend::sources
