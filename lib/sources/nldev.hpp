// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "model/qp.hpp"

// The messages of RDMA netlink's NLDEV client (include/uapi/rdma/rdma_netlink.h): bytes <-> model, no socket. Nothing that
// is decoded trusts a length; what is too short, too long or of the wrong size is left out, and a message without its
// identity is an error.
namespace rdmend::sources::nldev {

inline constexpr std::size_t kMostText = 128;       // bytes of a name
inline constexpr std::size_t kMostCounters = 4096;  // of one port

struct Device {
  std::uint32_t index = 0;
  std::string name;
  std::string firmware;
  std::string node_guid;  // "b8ce:f603:0000:1000", as sysfs writes it
  std::uint32_t ports = 0;
};
struct Port {
  std::uint32_t port = 0;
  std::optional<std::uint8_t> state, physical_state;
  std::string netdev;
};
struct Chardev {
  std::string name;                        // "uverbs0"
  std::optional<std::uint64_t> driver_id;  // enum rdma_driver_id; some PCI drivers do not say
};
// A connection of rdma_cm that has a QP: whom it leads to.
struct Peer {
  std::uint32_t qpn = 0;
  std::string address;  // "10.0.0.2", "fd00::2"; of an InfiniBand address its GID
};
using Counters = std::vector<std::pair<std::string, std::uint64_t>>;

// Payload: a message without its header.
using Payload = std::span<const std::byte>;
Result<Device> decode_device(Payload payload);
Result<Port> decode_port(Payload payload);
Result<Chardev> decode_chardev(Payload payload);
Result<Counters> decode_counters(Payload payload);
// A RES_QP_GET answer holds any number of QPs in a dump, and is itself one QP in a single get.
Result<std::vector<QpInfo>> decode_qps(Payload payload);
// Of a RES_CM_ID_GET dump; ids without QP or destination, and those not connected, are left out.
Result<std::vector<Peer>> decode_peers(Payload payload);
// 1: devices are shared by all network namespaces; 0: each belongs to one.
Result<bool> decode_shared_netns(Payload payload);

// One datagram of messages. `more`: the dump goes on; `done`: the answer is complete.
enum class Progress { more, done };
// Calls `visit` with each payload that answers `sequence`; the error of an NLMSG_ERROR or failed dump is the result's.
Result<Progress> for_each_message(std::span<const std::byte> datagram, std::uint32_t sequence, const std::function<Result<void>(Payload)>& visit);

// A request: what is asked, of which device, port and QP.
struct Request {
  std::uint16_t command = 0;  // RDMA_NLDEV_CMD_*
  bool dump = false;
  std::optional<std::uint32_t> device{}, port{}, qpn{};
  std::string chardev{};  // "uverbs"
};
std::vector<std::byte> encode(const Request& request, std::uint32_t sequence);

}  // namespace rdmend::sources::nldev
