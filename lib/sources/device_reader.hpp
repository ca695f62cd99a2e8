// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sources/counter_dir.hpp"
#include "sources/discovery.hpp"
#include "sources/hw_counters.hpp"
#include "sources/port_attributes.hpp"

namespace rdmend::sources {

// What a reading of a device shall bring.
struct ReadPlan {
  Instant now{};
  bool identity = false;    // who it is, which ports it has
  bool hw = false;          // hw counters
  bool counters = false;    // counters/ and what seldom changes
  std::string only_port{};  // attributes of this port alone
};

struct PortReading {
  std::string port;
  PortAttributes attributes;
  std::string netdev;
  std::optional<CounterReading> hw, counters, carrier;
  bool hw_through_netlink = false;
};

struct DeviceReading {
  int error = 0;  // errno: the device's directory cannot be opened
  std::optional<Identity> identity;
  std::vector<PortReading> ports;
  std::optional<CounterReading> hw;  // device level
};

// Does all the blocking reads of one device; lives in that device's worker.
class DeviceReader {
 public:
  DeviceReader(std::string sysfs, FoundDevice device, bool live) : sysfs_(std::move(sysfs)), device_(std::move(device)), live_(live) {}
  DeviceReading read(const ReadPlan& plan);

 private:
  struct Port {
    explicit Port(const std::string& n)
        : name(n), number(static_cast<std::uint32_t>(parse_number(n).value_or(0))), attributes(n), hw(number), counters("ports/" + n + "/counters") {}
    std::string name;
    std::uint32_t number;
    PortAttributeReader attributes;
    HwCounterReader hw;
    CounterDir counters;
    std::string netdev;
    std::optional<KeptFile> carrier;
    Patience carrier_patience{};
  };
  int open();
  NlSocket* socket();
  void look_again(DeviceReading& reading);
  PortReading read_port(Port& port, const ReadPlan& plan);
  CounterReading read_carrier(Port& port, Instant now);
  std::string find_netdev(const Port& port);

  std::string sysfs_;
  FoundDevice device_;
  bool live_;
  UniqueFd root_, dir_;
  std::optional<NlSocket> socket_;
  std::vector<std::unique_ptr<Port>> ports_;
  HwCounterReader device_hw_{0};
};

}  // namespace rdmend::sources
