// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/qp.hpp"

namespace rdmend::test {

// An RC queue pair of process 812 that is in RTS and connected.
inline QpInfo rc_qp(std::uint32_t qpn, std::optional<std::uint32_t> rq_psn) {
  QpInfo info;
  info.device = "rxe2";
  info.port = 1;
  info.qpn = qpn;
  info.type = static_cast<std::uint8_t>(QpType::rc);
  info.state = static_cast<std::uint8_t>(QpState::rts);
  info.remote_qpn = 100 + qpn;
  info.rq_psn = rq_psn;
  info.pid = 812;
  return info;
}

}  // namespace rdmend::test
