// SPDX-License-Identifier: Apache-2.0
#include "sources/nldev.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <cstring>

#include "sources/netlink_walk.hpp"

namespace rdmend::sources::nldev {
namespace {

Error malformed(const char* what) { return {std::string("rdma netlink: ") + what, EBADMSG}; }

template <class Number>
std::optional<Number> number(Payload value) {
  if (value.size() != sizeof(Number)) return std::nullopt;
  Number out{};
  std::memcpy(&out, value.data(), sizeof out);
  return out;
}

// Up to the first NUL.
std::string text(Payload value) {
  const auto* const first = reinterpret_cast<const char*>(value.data());
  const std::size_t most = std::min(value.size(), kMostText);
  return {first, strnlen(first, most)};
}

// A device's name becomes a path below class/infiniband.
bool is_directory_name(const std::string& name) { return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos; }

// Of a struct __kernel_sockaddr_storage; "" for a family that is not one of rdma_cm's.
std::string address_text(Payload storage) {
  constexpr int kInfiniband = 27;                // AF_IB; <rdma/ib.h>'s struct sockaddr_ib has the GID at offset 8
  constexpr std::size_t kV4 = 4, kV6 = 8;        // offsets of the address in sockaddr_in and, as in sockaddr_ib, sockaddr_in6
  char out[INET6_ADDRSTRLEN] = "";
  const auto family = number<std::uint16_t>(storage.first(std::min(storage.size(), sizeof(std::uint16_t)))).value_or(0);
  const bool v4 = family == AF_INET;
  if ((!v4 && family != AF_INET6 && family != kInfiniband) || storage.size() < kV6 + sizeof(in6_addr)) return {};
  inet_ntop(v4 ? AF_INET : AF_INET6, storage.data() + (v4 ? kV4 : kV6), out, sizeof out);
  return out;
}

void decode_qp(Payload entry, QpInfo& qp, bool& has_number) {
  for_each_attribute(entry, [&](int type, Payload value) {
    const auto u32 = number<std::uint32_t>(value);
    const auto u8 = number<std::uint8_t>(value);
    switch (type) {
      case RDMA_NLDEV_ATTR_DEV_INDEX: qp.device_index = u32.value_or(0); break;
      case RDMA_NLDEV_ATTR_DEV_NAME: qp.device = text(value); break;
      case RDMA_NLDEV_ATTR_PORT_INDEX: qp.port = u32.value_or(0); break;
      case RDMA_NLDEV_ATTR_RES_LQPN:
        qp.qpn = u32.value_or(0);
        has_number = u32.has_value();
        break;
      case RDMA_NLDEV_ATTR_RES_RQPN: qp.remote_qpn = u32; break;
      case RDMA_NLDEV_ATTR_RES_RQ_PSN: qp.rq_psn = u32; break;
      case RDMA_NLDEV_ATTR_RES_SQ_PSN: qp.sq_psn = u32; break;
      case RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE: qp.path_mig_state = u8; break;
      case RDMA_NLDEV_ATTR_RES_TYPE: qp.type = u8.value_or(0); break;
      case RDMA_NLDEV_ATTR_RES_STATE: qp.state = u8.value_or(0); break;
      case RDMA_NLDEV_ATTR_RES_PID: qp.pid = u32.value_or(0); break;
      case RDMA_NLDEV_ATTR_RES_KERN_NAME: qp.kernel_owner = text(value); break;
      case RDMA_NLDEV_ATTR_RES_PDN: qp.pdn = u32; break;
      default: break;
    }
  });
}

}  // namespace

Result<Device> decode_device(Payload payload) {
  Device device;
  bool indexed = false;
  for_each_attribute(payload, [&](int type, Payload value) {
    if (type == RDMA_NLDEV_ATTR_DEV_INDEX) {
      const auto index = number<std::uint32_t>(value);
      indexed = index.has_value();
      device.index = index.value_or(0);
    } else if (type == RDMA_NLDEV_ATTR_DEV_NAME) {
      device.name = text(value);
    } else if (type == RDMA_NLDEV_ATTR_FW_VERSION) {
      device.firmware = text(value);
    } else if (type == RDMA_NLDEV_ATTR_PORT_INDEX) {
      device.ports = number<std::uint32_t>(value).value_or(0);
    } else if (type == RDMA_NLDEV_ATTR_NODE_GUID) {
      if (const auto guid = number<std::uint64_t>(value))
        device.node_guid = fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", *guid >> 48U, *guid >> 32U & 0xffffU, *guid >> 16U & 0xffffU, *guid & 0xffffU);
    }
  });
  if (!indexed || !is_directory_name(device.name)) return malformed("a device without index or name");
  return device;
}

Result<Port> decode_port(Payload payload) {
  Port port;
  for_each_attribute(payload, [&](int type, Payload value) {
    if (type == RDMA_NLDEV_ATTR_PORT_INDEX) port.port = number<std::uint32_t>(value).value_or(0);
    if (type == RDMA_NLDEV_ATTR_PORT_STATE) port.state = number<std::uint8_t>(value);
    if (type == RDMA_NLDEV_ATTR_PORT_PHYS_STATE) port.physical_state = number<std::uint8_t>(value);
    if (type == RDMA_NLDEV_ATTR_NDEV_NAME) port.netdev = text(value);
  });
  if (port.port == 0) return malformed("a port without number");
  return port;
}

Result<Chardev> decode_chardev(Payload payload) {
  Chardev chardev;
  for_each_attribute(payload, [&](int type, Payload value) {
    if (type == RDMA_NLDEV_ATTR_CHARDEV_NAME) chardev.name = text(value);
    // The header says u64; the kernel sends u32 (drivers/infiniband/core/uverbs_main.c).
    if (type == RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID) {
      chardev.driver_id = number<std::uint64_t>(value);
      if (const auto id = number<std::uint32_t>(value)) chardev.driver_id = *id;
    }
  });
  if (chardev.name.empty()) return malformed("a character device without name");
  return chardev;
}

Result<Counters> decode_counters(Payload payload) {
  Counters counters;
  bool found = false;
  for_each_attribute(payload, [&](int type, Payload table) {
    if (type != RDMA_NLDEV_ATTR_STAT_HWCOUNTERS) return;
    found = true;
    for_each_attribute(table, [&](int entry_type, Payload entry) {
      if (entry_type != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY || counters.size() >= kMostCounters) return;
      std::string name;
      std::optional<std::uint64_t> value;
      for_each_attribute(entry, [&](int field, Payload bytes) {
        if (field == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME) name = text(bytes);
        if (field == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE) value = number<std::uint64_t>(bytes);
      });
      if (!name.empty() && value) counters.emplace_back(std::move(name), *value);
    });
  });
  if (!found) return malformed("statistics without counters");
  return counters;
}

Result<std::vector<QpInfo>> decode_qps(Payload payload) {
  QpInfo common;  // device and index stand once, at the top
  bool single = false;
  std::vector<QpInfo> qps;
  decode_qp(payload, common, single);
  if (single) return std::vector{common};
  for_each_attribute(payload, [&](int type, Payload table) {
    if (type != RDMA_NLDEV_ATTR_RES_QP) return;
    for_each_attribute(table, [&](int entry_type, Payload entry) {
      if (entry_type != RDMA_NLDEV_ATTR_RES_QP_ENTRY) return;
      QpInfo qp;
      qp.device = common.device;
      qp.device_index = common.device_index;
      bool has_number = false;
      decode_qp(entry, qp, has_number);
      if (has_number) qps.push_back(std::move(qp));
    });
  });
  return qps;
}

Result<std::vector<Peer>> decode_peers(Payload payload) {
  std::vector<Peer> peers;
  for_each_attribute(payload, [&](int type, Payload table) {
    if (type != RDMA_NLDEV_ATTR_RES_CM_ID) return;
    for_each_attribute(table, [&](int entry_type, Payload entry) {
      if (entry_type != RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY) return;
      // enum rdma_cm_state of drivers/infiniband/core/cma_priv.h. After a disconnect the number may be another QP's.
      constexpr std::uint8_t kConnect = 5;
      Peer peer;
      bool connected = false;
      for_each_attribute(entry, [&](int field, Payload value) {
        if (field == RDMA_NLDEV_ATTR_RES_STATE) connected = number<std::uint8_t>(value) == kConnect;
        if (field == RDMA_NLDEV_ATTR_RES_LQPN) peer.qpn = number<std::uint32_t>(value).value_or(0);
        if (field == RDMA_NLDEV_ATTR_RES_DST_ADDR) peer.address = address_text(value);
      });
      if (connected && peer.qpn != 0 && !peer.address.empty()) peers.push_back(std::move(peer));
    });
  });
  return peers;
}

Result<bool> decode_shared_netns(Payload payload) {
  std::optional<std::uint8_t> mode;
  for_each_attribute(payload, [&](int type, Payload value) {
    if (type == RDMA_NLDEV_SYS_ATTR_NETNS_MODE) mode = number<std::uint8_t>(value);
  });
  if (!mode) return malformed("no network namespace mode");
  return *mode != 0;
}

Result<Progress> for_each_message(std::span<const std::byte> datagram, std::uint32_t sequence, const std::function<Result<void>(Payload)>& visit) {
  while (has_message(datagram)) {
    const auto message = take_message(datagram, "rdma netlink");
    if (!message) return message.error();
    const auto& header = message->header;
    const auto payload = message->payload;
    if (header.nlmsg_seq != sequence) continue;  // the late answer to a request that was given up
    if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
      // Both begin with a negative errno, 0 for success.
      const int code = number<std::int32_t>(payload.first(std::min(payload.size(), sizeof(std::int32_t)))).value_or(0);
      if (code != 0) return errno_error("rdma netlink", code < 0 && code > -4096 ? -code : EBADMSG);
      return Progress::done;
    }
    if (RDMA_NL_GET_CLIENT(header.nlmsg_type) != RDMA_NL_NLDEV) continue;
    if (auto visited = visit(payload); !visited) return visited.error();
    if ((header.nlmsg_flags & NLM_F_MULTI) == 0) return Progress::done;
  }
  return Progress::more;
}

std::vector<std::byte> encode(const Request& request, std::uint32_t sequence) {
  alignas(nlmsghdr) std::byte buffer[512] = {};
  nlmsghdr* const header = mnl_nlmsg_put_header(buffer);
  header->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, request.command));
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | (request.dump ? NLM_F_DUMP : 0));
  header->nlmsg_seq = sequence;
  if (request.device) mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, *request.device);
  if (request.port) mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_PORT_INDEX, *request.port);
  if (request.qpn) mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_RES_LQPN, *request.qpn);
  if (!request.chardev.empty() && request.chardev.size() < kMostText)
    mnl_attr_put_strz(header, RDMA_NLDEV_ATTR_CHARDEV_TYPE, request.chardev.c_str());
  return {buffer, buffer + header->nlmsg_len};
}

}  // namespace rdmend::sources::nldev
