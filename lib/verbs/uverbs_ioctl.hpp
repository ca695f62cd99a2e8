// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "wire/hand.hpp"

namespace rdmend::verbs {

// A uverbs descriptor, ours or another process's, spoken to without libibverbs: method INVOKE_WRITE of the device object
// (linux include/uapi/rdma/ib_user_ioctl_cmds.h). The kernel wants `driver_id` (RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID) to be the device's.
struct Uverbs {
  int fd = -1;
  std::uint32_t driver_id = 0;
};

// Reads the QP behind `handle`, a small number, one index for all objects of the descriptor. Error codes: EINVAL it is another
// object, ENOENT there is none, EBUSY its owner is destroying it, EIO the device has gone.
Result<wire::QpAttributes> query_qp(const Uverbs& uverbs, std::uint32_t handle);

// Sets min_rnr_timer and nothing else. The mask has no IBV_QP_STATE, so the QP stays in the state it is in, whatever its owner does
// meanwhile. The kernel allows it from RTS to RTS; in RTR there is no such transition: EINVAL.
Result<void> modify_min_rnr_timer(const Uverbs& uverbs, std::uint32_t handle, std::uint8_t code);

}  // namespace rdmend::verbs
