// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/unique_fd.hpp"
#include "rdma_netlink.hpp"
#include "wire/hand.hpp"

namespace rdmend::hand {

// Does what a request asks, to its end, and tells what became of each QP. Blocking.
class Work {
 public:
  Work(RdmaNetlink netlink, UniqueFd proc) : netlink_(std::move(netlink)), proc_(std::move(proc)) {}
  wire::HandReply answer(const wire::HandRequest& request);

 private:
  RdmaNetlink netlink_;
  UniqueFd proc_;
};

}  // namespace rdmend::hand
