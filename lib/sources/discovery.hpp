// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sources/drivers.hpp"
#include "sources/nl_socket.hpp"

namespace rdmend::sources {

struct FoundDevice {
  std::string name;
  std::optional<std::uint32_t> index{};  // rdma netlink's; absent where only a tree is read
  std::string firmware{}, node_guid{};
  std::uint32_t ports = 0;
};

struct Findings {
  std::vector<FoundDevice> devices;
  std::optional<bool> shared_netns;     // false: a device that was moved to another network namespace is not seen
  std::vector<std::string> elsewhere{};  // these, where devices belong to one network namespace each
  int error = 0;                        // errno: the tree cannot be opened
};

// Finds the host's devices: by rdma netlink, and where there is none in class/infiniband. Used in one worker at a time.
class Finder {
 public:
  Finder(std::string sysfs, bool live) : sysfs_(std::move(sysfs)), live_(live) {}
  Findings find();

 private:
  std::string sysfs_;
  bool live_;
  std::optional<NlSocket> socket_;
};

// Drivers whose RDMA half is bound and shows no device here, "0000:3b:00.0 (mlx5_core.rdma.0)": theirs are in another namespace.
std::vector<std::string> devices_elsewhere(int root);

// What a device is, beyond its name.
struct Identity {
  Driver driver = Driver::unknown;
  std::string firmware, node_guid, pci, board_id, hca_type;
  std::string function;  // "pf" or "vf" of a PCI device
  std::vector<std::string> ports;
  // What tells it from every other device, whatever its name: node GUID and PCI address. Empty when neither is known.
  [[nodiscard]] std::string key() const { return node_guid.empty() && pci.empty() ? "" : node_guid + '@' + pci; }
};
// The driver is, in this order, the one that the uverbs character device names (rxe on a NIC has that NIC as its parent: the
// link would lie), the one of an attribute that only rxe has, the one that the parent device is bound to, and the one that has
// a counter of that name.
Identity identify(int device_dir, NlSocket* socket, const FoundDevice& device);

}  // namespace rdmend::sources
