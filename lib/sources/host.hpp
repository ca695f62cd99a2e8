// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/reactor.hpp"
#include "model/event.hpp"
#include "model/neighbour.hpp"
#include "model/qp.hpp"
#include "model/sample.hpp"

namespace rdmend::sources {

class Choice;
class NetdevCalls;

struct Options {
  std::string sysfs;     // "/sys"; any other tree turns netlink, verbs and uevents off
  std::string proc;      // "/proc"
  bool live = true;      // false: everything comes from `sysfs` alone, rescanned every 10 s
  std::vector<std::string> include{".*"};  // device names, RE2, anchored
  std::vector<std::string> exclude;
  std::shared_ptr<const Choice> raw;       // raw counters that are told, by the driver's name; null: all
  // How network devices are asked; null: they are not. A device calls it once, for a worker of its own.
  std::function<std::unique_ptr<NetdevCalls>()> netdev;
  milliseconds interval{1000};           // hw counters and port attributes
  milliseconds counters_interval{10'000};  // counters/ (a firmware command a file on mlx5), ethtool, DCB
  milliseconds qp_interval{30'000};      // QP dumps
  std::size_t qp_cap = 20'000;           // QPs read a dump
  milliseconds deadline{2000};           // a reading that takes longer makes its device stale
};

// Where what was read goes; called on the loop's thread.
struct Sinks {
  std::function<void(Batch)> batch;
  std::function<void(Event)> event;
  std::function<void(QpDump)> qps;
};

struct DeviceStatus {
  std::string name, driver, node_guid, firmware;
  std::uint32_t index = 0;  // rdma netlink's
  bool stale = false;
  std::vector<std::string> ports;
};

// Every RDMA device of this host: finds them, follows them (uevents), reads them (a worker each) and hears their async
// events (a verbs context each, closed on the uevent `remove` of its uverbsN so that deleting a device never waits for us).
class Host {
 public:
  Host(Reactor& reactor, Options options, Sinks sinks);
  ~Host();
  void start();
  // Devices included or excluded, intervals: applied without losing counters' history.
  void reconfigure(Options options);
  // A QP dump of `device` now, out of its rhythm (a remedy's evidence); the answer comes to `sinks.qps`, merged when one is under way.
  void request_qp_dump(const std::string& device);
  // Whether the first search for devices is done: from then on devices() tells what there is, nothing included.
  [[nodiscard]] bool searched() const;
  [[nodiscard]] std::vector<DeviceStatus> devices() const;
  // The latest dump of each device.
  [[nodiscard]] std::vector<QpDump> qps() const;
  // The ARP and ND entries on the network devices of a port.
  [[nodiscard]] std::vector<PortNeighbour> neighbours(const std::string& device, const std::string& port) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::sources
