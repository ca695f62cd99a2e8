// SPDX-License-Identifier: Apache-2.0
#include "sources/device_reader.hpp"

#include <fcntl.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>

namespace rdmend::sources {
namespace {

constexpr int kMostGids = 4;  // that are looked at for the netdev's name
constexpr std::size_t kMostNetdevName = 15;

bool is_netdev_name(const std::string& name) { return !name.empty() && name.size() <= kMostNetdevName && name.find('/') == std::string::npos && name != ".."; }

}  // namespace

int DeviceReader::open() {
  auto root = open_dir(AT_FDCWD, sysfs_);
  if (!root) return root.error().code;
  auto dir = open_dir(root->get(), "class/infiniband/" + device_.name);
  if (!dir) return dir.error().code;
  root_ = std::move(*root);
  dir_ = std::move(*dir);
  return 0;
}

NlSocket* DeviceReader::socket() {
  if (!live_ || !device_.index) return nullptr;
  if (!socket_)
    if (auto opened = NlSocket::open()) socket_.emplace(std::move(*opened));
  return socket_ ? &*socket_ : nullptr;
}

void DeviceReader::look_again(DeviceReading& reading) {
  reading.identity = identify(dir_.get(), socket(), device_);
  std::vector<std::unique_ptr<Port>> ports;
  for (const auto& name : reading.identity->ports) {
    const auto known = std::find_if(ports_.begin(), ports_.end(), [&](const auto& port) { return port && port->name == name; });
    ports.push_back(known != ports_.end() ? std::move(*known) : std::make_unique<Port>(name));
  }
  ports_ = std::move(ports);
}

std::string DeviceReader::find_netdev(const Port& port) {
  if (NlSocket* const netlink = socket()) {
    auto answer = netlink->get<nldev::Port>({.command = RDMA_NLDEV_CMD_PORT_GET, .device = device_.index, .port = port.number}, nldev::decode_port);
    if (answer && is_netdev_name(answer->netdev)) return answer->netdev;
  }
  for (int gid = 0; gid < kMostGids; ++gid) {
    auto name = read_file(dir_.get(), "ports/" + port.name + "/gid_attrs/ndevs/" + std::to_string(gid));
    if (name && is_netdev_name(*name)) return *name;
  }
  return {};
}

CounterReading DeviceReader::read_carrier(Port& port, Instant now) {
  CounterReading reading;
  if (!port.carrier_patience.due(now)) return reading;
  const auto text = port.carrier->read(root_.get());
  if (const auto value = text ? parse_number(*text) : std::nullopt) {
    port.carrier_patience.answered();
    reading.values.emplace_back("carrier_down_count", *value);
    return reading;
  }
  const int error = text ? EBADMSG : text.error().code;
  port.carrier_patience.failed(error, now);
  if (error != ENOENT) reading.faults.push_back({"carrier_down_count", error});  // old kernels have no such file
  return reading;
}

PortReading DeviceReader::read_port(Port& port, const ReadPlan& plan) {
  PortReading reading;
  reading.port = port.name;
  reading.attributes = port.attributes.read(dir_.get(), plan.now);
  if (plan.counters || !plan.only_port.empty()) {
    auto netdev = find_netdev(port);
    if (netdev != port.netdev) {
      port.netdev = std::move(netdev);
      port.carrier.reset();
      port.carrier_patience = {};
      if (!port.netdev.empty()) port.carrier.emplace("class/net/" + port.netdev + "/carrier_down_count");
    }
  }
  reading.netdev = port.netdev;
  if (plan.hw) {
    reading.hw = port.hw.read(dir_.get(), socket(), device_.index.value_or(0), plan.now);
    reading.hw_through_netlink = port.hw.through_netlink();
    if (port.carrier) reading.carrier = read_carrier(port, plan.now);
  }
  if (plan.counters) reading.counters = port.counters.read(dir_.get(), plan.now);
  return reading;
}

DeviceReading DeviceReader::read(const ReadPlan& plan) {
  DeviceReading reading;
  // The directory is opened anew now and then: a device that was taken away and came back has another one.
  if (!dir_ || plan.identity) reading.error = open();
  if (reading.error != 0) return reading;
  if (plan.identity) look_again(reading);
  for (auto& port : ports_)
    if (plan.only_port.empty() || plan.only_port == port->name) reading.ports.push_back(read_port(*port, plan));
  if (plan.hw) reading.hw = device_hw_.read(dir_.get(), nullptr, 0, plan.now);
  return reading;
}

}  // namespace rdmend::sources
