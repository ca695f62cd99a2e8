// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/unique_fd.hpp"
#include "rdma_netlink.hpp"
#include "route_netlink.hpp"
#include "wire/hand.hpp"

namespace rdmend::hand {

// Does what a request asks, to its end, and tells what became of each QP or neighbour. Blocking.
class Work {
 public:
  Work(RdmaNetlink netlink, RouteNetlink route, UniqueFd proc) : netlink_(std::move(netlink)), route_(std::move(route)), proc_(std::move(proc)) {}
  wire::HandReply answer(const wire::HandRequest& request);

 private:
  RdmaNetlink netlink_;
  RouteNetlink route_;
  UniqueFd proc_;
};

}  // namespace rdmend::hand
