// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace rdmend {

// ib_qp_type and ib_qp_state as the kernel numbers them (include/rdma/ib_verbs.h).
enum class QpType : std::uint8_t { smi = 0, gsi = 1, rc = 2, uc = 3, ud = 4, raw_ipv6 = 5, raw_ethertype = 6, raw_packet = 8, xrc_ini = 9, xrc_tgt = 10, driver = 0xff };
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, err = 6 };

std::string qp_type_name(std::uint8_t type);    // "RC"; "type 12" for one unknown
std::string qp_state_name(std::uint8_t state);  // "RTS"

// A QP as rdma netlink's RES_QP_GET tells it, to anybody. PSNs are 24 bit.
struct QpInfo {
  std::uint32_t device_index = 0;  // rdma netlink's index of the device
  std::string device;
  std::uint32_t port = 0;  // 0 when the kernel does not say (a QP that has no port yet)
  std::uint32_t qpn = 0;
  std::uint8_t type = 0;
  std::uint8_t state = 0;
  std::optional<std::uint32_t> remote_qpn;  // RC and UC only
  std::optional<std::uint32_t> rq_psn;
  std::optional<std::uint32_t> sq_psn;
  std::optional<std::uint8_t> path_mig_state;
  std::uint32_t pid = 0;         // the *thread* that made it; 0 when it has ended, or for the kernel's own
  std::string kernel_owner;      // "ib_core" and the like; empty for a process's
  std::string comm;              // of the owning process, from /proc, empty when unknown
  std::string peer;              // address that rdma_cm connected it to, empty when it was connected otherwise
  std::optional<std::uint32_t> pdn;
};

// All QPs of one device at one time.
struct QpDump {
  std::string device;
  Timestamp at{};
  std::vector<QpInfo> qps;
  bool truncated = false;  // the cap on QPs was reached
};

}  // namespace rdmend
