// SPDX-License-Identifier: Apache-2.0
#include "rdma_netlink.hpp"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <optional>

namespace rdmend::hand {
namespace {

constexpr std::size_t kReceive = std::size_t{64} * 1024;

// Starts a request in `buffer`; attributes are put behind it while `buffer` keeps its size.
nlmsghdr* begin(std::vector<char>& buffer, int command, std::uint16_t flags, std::uint32_t index) {
  buffer.assign(256, 0);
  auto* header = mnl_nlmsg_put_header(buffer.data());
  header->nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, index);
  return header;
}

// Attributes of unexpected size are passed over: a kernel newer than us may say more than we know.
std::optional<std::uint64_t> number(const nlattr* attr) {
  switch (mnl_attr_get_payload_len(attr)) {
    case 1: return mnl_attr_get_u8(attr);
    case 2: return mnl_attr_get_u16(attr);
    case 4: return mnl_attr_get_u32(attr);
    case 8: return mnl_attr_get_u64(attr);
    default: return std::nullopt;
  }
}

std::string text(const nlattr* attr) {
  const auto* from = static_cast<const char*>(mnl_attr_get_payload(attr));
  return {from, strnlen(from, mnl_attr_get_payload_len(attr))};
}

// The kernel's 64 bit device number (huge_encode_dev in linux/kdev_t.h).
dev_t device_number(std::uint64_t code) {
  return makedev(static_cast<unsigned>((code & 0xfff00) >> 8), static_cast<unsigned>((code & 0xff) | ((code >> 12) & 0xfff00)));
}

// libmnl's own loops over attributes are C: they need void* to convert.
template <class F>
void for_each(const void* payload, std::size_t length, F use) {
  const auto* attr = static_cast<const nlattr*>(payload);
  const auto* end = static_cast<const char*>(payload) + length;
  for (; mnl_attr_ok(attr, static_cast<int>(end - reinterpret_cast<const char*>(attr))); attr = mnl_attr_next(attr)) use(attr);
}
template <class F>
void for_each(const nlmsghdr* message, F use) {
  for_each(mnl_nlmsg_get_payload(message), mnl_nlmsg_get_payload_len(message), use);
}
template <class F>
void for_each(const nlattr* outer, F use) {
  for_each(mnl_attr_get_payload(outer), mnl_attr_get_payload_len(outer), use);
}

int read_device(const nlmsghdr* message, void* data) {
  auto& device = *static_cast<Device*>(data);
  for_each(message, [&](const nlattr* attr) {
    switch (mnl_attr_get_type(attr)) {
      case RDMA_NLDEV_ATTR_DEV_NAME: device.name = text(attr); break;
      case RDMA_NLDEV_ATTR_CHARDEV_NAME: device.uverbs = text(attr); break;
      case RDMA_NLDEV_ATTR_CHARDEV: device.number = device_number(number(attr).value_or(0)); break;
      case RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID: device.driver_id = static_cast<std::uint32_t>(number(attr).value_or(0)); break;
      default: break;
    }
  });
  return MNL_CB_OK;
}

void read_field(const nlattr* attr, QpInfo& qp) {
  const auto value = number(attr);
  const auto word = static_cast<std::uint32_t>(value.value_or(0));
  switch (mnl_attr_get_type(attr)) {
    case RDMA_NLDEV_ATTR_PORT_INDEX: qp.port = word; break;
    case RDMA_NLDEV_ATTR_RES_LQPN: qp.qpn = word; break;
    case RDMA_NLDEV_ATTR_RES_RQPN: qp.remote_qpn = word; break;
    case RDMA_NLDEV_ATTR_RES_RQ_PSN: qp.rq_psn = word & 0xffffff; break;
    case RDMA_NLDEV_ATTR_RES_SQ_PSN: qp.sq_psn = word & 0xffffff; break;
    case RDMA_NLDEV_ATTR_RES_TYPE: qp.type = static_cast<std::uint8_t>(word); break;
    case RDMA_NLDEV_ATTR_RES_STATE: qp.state = static_cast<std::uint8_t>(word); break;
    case RDMA_NLDEV_ATTR_RES_PID: qp.pid = word; break;
    case RDMA_NLDEV_ATTR_RES_KERN_NAME: qp.kernel_owner = text(attr); break;
    default: break;
  }
}

int read_qps(const nlmsghdr* message, void* data) {
  auto& qps = *static_cast<std::vector<QpInfo>*>(data);
  for_each(message, [&](const nlattr* table) {
    if (mnl_attr_get_type(table) != RDMA_NLDEV_ATTR_RES_QP) return;
    for_each(table, [&](const nlattr* entry) {
      if (mnl_attr_get_type(entry) != RDMA_NLDEV_ATTR_RES_QP_ENTRY) return;
      QpInfo qp;
      for_each(entry, [&](const nlattr* attr) { read_field(attr, qp); });
      qps.push_back(std::move(qp));
    });
  });
  if (qps.size() <= RdmaNetlink::kMostQps) return MNL_CB_OK;
  errno = E2BIG;
  return MNL_CB_ERROR;
}

}  // namespace

Result<RdmaNetlink> RdmaNetlink::open() {
  auto netlink = Netlink::open(NETLINK_RDMA, "RDMA netlink", std::chrono::seconds{5});
  if (!netlink) return netlink.error();
  return RdmaNetlink(std::move(*netlink));
}

Result<void> RdmaNetlink::ask(std::vector<char>& request, Netlink::Callback callback, void* data) {
  std::vector<char> buffer(kReceive);
  return netlink_.ask(reinterpret_cast<nlmsghdr*>(request.data()), buffer, callback, data);
}

Result<Device> RdmaNetlink::device(std::uint32_t index) {
  Device device;
  device.index = index;
  std::vector<char> buffer;
  begin(buffer, RDMA_NLDEV_CMD_GET, NLM_F_ACK, index);
  if (const auto asked = ask(buffer, read_device, &device); !asked) return asked.error().within(fmt::format("device {}", index));
  auto* header = begin(buffer, RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_ACK, index);
  mnl_attr_put_strz(header, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
  if (const auto asked = ask(buffer, read_device, &device); !asked) return asked.error().within(fmt::format("the uverbs of {}", device.name));
  if (device.uverbs.empty() || device.number == 0) return Error{fmt::format("the kernel tells no uverbs of {}", device.name)};
  return device;
}

Result<std::vector<QpInfo>> RdmaNetlink::qps(const Device& device) {
  std::vector<QpInfo> qps;
  std::vector<char> buffer;
  begin(buffer, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, device.index);
  if (const auto asked = ask(buffer, read_qps, &qps); !asked) return asked.error().within(fmt::format("the QPs of {}", device.name));
  return qps;
}

}  // namespace rdmend::hand
