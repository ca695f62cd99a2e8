// SPDX-License-Identifier: Apache-2.0
#include "sources/discovery.hpp"

#include <fcntl.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>

#include "base/text.hpp"
#include "sources/sysfs.hpp"

namespace rdmend::sources {
namespace {

constexpr std::size_t kMostDevices = 1024;
constexpr std::size_t kMostPorts = 256;
constexpr std::size_t kMostName = 64;  // IB_DEVICE_NAME_MAX

std::string attribute(int dir, const std::string& path) {
  const auto text = read_file(dir, path);
  return text ? printable(*text, 64) : std::string();
}

bool is_number(const std::string& name) { return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos; }

Driver driver_by_counters(int dir, const std::vector<std::string>& ports) {
  std::vector<std::string> places{"hw_counters"};
  for (const auto& port : ports) places.push_back("ports/" + port + "/hw_counters");
  for (const auto& place : places) {
    const auto names = list_dir(dir, place);
    if (!names) continue;
    for (const auto& name : *names)
      if (const auto driver = driver_of_counter(name); driver != Driver::unknown) return driver;
  }
  return Driver::unknown;
}

Driver driver_of(int dir, NlSocket* socket, const FoundDevice& device, const std::vector<std::string>& ports) {
  if (socket != nullptr && device.index) {
    const auto chardev =
        socket->get<nldev::Chardev>({.command = RDMA_NLDEV_CMD_GET_CHARDEV, .device = device.index, .chardev = "uverbs"}, nldev::decode_chardev);
    if (chardev && chardev->driver_id)
      if (const auto driver = driver_of_id(*chardev->driver_id); driver != Driver::unknown) return driver;
  }
  if (read_file(dir, "parent")) return Driver::rxe;
  if (const auto module = link_name(dir, "device/driver"))
    if (const auto driver = driver_of_module(*module); driver != Driver::unknown) return driver;
  return driver_by_counters(dir, ports);
}

}  // namespace

Findings Finder::find() {
  Findings findings;
  if (live_) {
    if (!socket_)
      if (auto opened = NlSocket::open()) socket_.emplace(std::move(*opened));
    if (socket_) {
      if (const auto shared = socket_->get<bool>({.command = RDMA_NLDEV_CMD_SYS_GET}, nldev::decode_shared_netns)) findings.shared_netns = *shared;
      if (const auto devices = list_devices(*socket_)) {
        for (const auto& device : *devices)
          findings.devices.push_back({device.name, device.index, device.firmware, device.node_guid, device.ports});
        if (findings.shared_netns == false)
          if (const auto sysfs = open_dir(AT_FDCWD, sysfs_)) findings.elsewhere = devices_elsewhere(sysfs->get());
        return findings;
      }
      socket_.reset();
    }
  }
  const auto root = open_dir(AT_FDCWD, sysfs_);
  if (!root) {
    findings.error = root.error().code;
    return findings;
  }
  const auto names = list_dir(root->get(), "class/infiniband");
  if (!names) return findings;
  for (const auto& name : *names)
    if (name.size() < kMostName && findings.devices.size() < kMostDevices) findings.devices.push_back({.name = name});
  return findings;
}

std::vector<std::string> devices_elsewhere(int root) {
  std::vector<std::string> parents;  // of those that are seen
  if (const auto names = list_dir(root, "class/infiniband"))
    for (const auto& name : *names)
      if (auto parent = link_name(root, "class/infiniband/" + name + "/device")) parents.push_back(std::move(*parent));
  std::vector<std::string> out;
  const auto halves = list_dir(root, "bus/auxiliary/devices");
  if (!halves) return out;
  for (const auto& name : *halves) {
    const bool rdma = name.find(".rdma.") != std::string::npos || name.find(".roce.") != std::string::npos || name.find(".iwarp.") != std::string::npos;
    const auto place = "bus/auxiliary/devices/" + name;
    if (!rdma || !link_name(root, place + "/driver") || out.size() >= kMostDevices) continue;
    const auto target = link_target(root, place);
    if (!target) continue;
    const auto parent = target->substr(0, target->rfind('/'));
    const auto address = parent.substr(parent.rfind('/') + 1);
    if (std::find(parents.begin(), parents.end(), address) == parents.end()) out.push_back(printable(address, 64) + " (" + printable(name, 64) + ")");
  }
  return out;
}

Identity identify(int device_dir, NlSocket* socket, const FoundDevice& device) {
  Identity identity;
  if (auto ports = list_dir(device_dir, "ports"))
    for (auto& port : *ports)
      if (is_number(port) && port.size() < 6 && identity.ports.size() < kMostPorts) identity.ports.push_back(std::move(port));
  identity.driver = driver_of(device_dir, socket, device, identity.ports);
  identity.firmware = device.firmware.empty() ? attribute(device_dir, "fw_ver") : printable(device.firmware, 64);
  identity.node_guid = device.node_guid.empty() ? attribute(device_dir, "node_guid") : device.node_guid;
  identity.board_id = attribute(device_dir, "board_id");
  identity.hca_type = attribute(device_dir, "hca_type");
  // A bus address ("0000:3b:00.0") as sysfs names it; a virtual device has none.
  if (const auto parent = link_name(device_dir, "device"); parent && parent->find(':') != std::string::npos) identity.pci = printable(*parent, 64);
  if (!identity.pci.empty()) identity.function = link_name(device_dir, "device/physfn") ? "vf" : "pf";
  return identity;
}

}  // namespace rdmend::sources
