// SPDX-License-Identifier: Apache-2.0
#include "verbs/uverbs_ioctl.hpp"

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace rdmend::verbs {
namespace {

ib_uverbs_attr attribute(std::uint16_t id, std::size_t length, std::uint64_t data) {
  ib_uverbs_attr attr{};
  attr.attr_id = id;
  attr.len = static_cast<std::uint16_t>(length);
  attr.flags = UVERBS_ATTR_F_MANDATORY;
  attr.data = data;
  return attr;
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// One command of the old write() interface, through ioctl: write() itself is refused on a descriptor that another process opened.
Result<void> invoke(const Uverbs& uverbs, std::uint32_t command, std::span<const std::byte> in, std::span<std::byte> out) {
  std::array<ib_uverbs_attr, 3> attrs{attribute(UVERBS_ATTR_CORE_IN, in.size(), address(in.data())),
                                      attribute(UVERBS_ATTR_WRITE_CMD, sizeof(std::uint64_t), command),
                                      attribute(UVERBS_ATTR_CORE_OUT, out.size(), address(out.data()))};
  const std::size_t used = out.empty() ? 2 : 3;
  // It ends with an array of no length, which {} cannot begin in standard C++.
  ib_uverbs_ioctl_hdr header;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::memset(&header, 0, sizeof(header));
  header.length = static_cast<std::uint16_t>(sizeof(header) + used * sizeof(attrs[0]));
  header.object_id = UVERBS_OBJECT_DEVICE;
  header.method_id = UVERBS_METHOD_INVOKE_WRITE;
  header.num_attrs = static_cast<std::uint16_t>(used);
  header.driver_id = uverbs.driver_id;
  alignas(8) std::array<std::byte, sizeof(header) + sizeof(attrs)> message{};
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), attrs.data(), sizeof(attrs));
  if (ioctl(uverbs.fd, RDMA_VERBS_IOCTL, message.data()) == 0) return {};
  return errno_error("uverbs", errno);
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Result<wire::QpAttributes> query_qp(const Uverbs& uverbs, std::uint32_t handle) {
  ib_uverbs_query_qp query{};
  query.qp_handle = handle;
  query.attr_mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_MIN_RNR_TIMER | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_DEST_QPN | IBV_QP_PATH_MIG_STATE;
  ib_uverbs_query_qp_resp answer{};
  if (const auto done = invoke(uverbs, IB_USER_VERBS_CMD_QUERY_QP, bytes_of(query), std::as_writable_bytes(std::span(&answer, 1))); !done)
    return done.error();
  wire::QpAttributes a;
  a.state = answer.qp_state;
  a.port = answer.port_num;
  a.path_mtu = answer.path_mtu;
  a.timeout = answer.timeout;
  a.retry_cnt = answer.retry_cnt;
  a.rnr_retry = answer.rnr_retry;
  a.min_rnr_timer = answer.min_rnr_timer;
  a.path_mig_state = answer.path_mig_state;
  a.dest_qpn = answer.dest_qp_num;
  a.rq_psn = answer.rq_psn & 0xffffff;
  a.sq_psn = answer.sq_psn & 0xffffff;
  std::copy(std::begin(answer.dest.dgid), std::end(answer.dest.dgid), std::begin(a.remote_gid));
  a.global = answer.dest.is_global != 0;
  return a;
}

Result<void> modify_min_rnr_timer(const Uverbs& uverbs, std::uint32_t handle, std::uint8_t code) {
  ib_uverbs_modify_qp modify{};
  modify.qp_handle = handle;
  modify.attr_mask = IBV_QP_MIN_RNR_TIMER;
  modify.min_rnr_timer = code;
  return invoke(uverbs, IB_USER_VERBS_CMD_MODIFY_QP, bytes_of(modify), {});
}

}  // namespace rdmend::verbs
