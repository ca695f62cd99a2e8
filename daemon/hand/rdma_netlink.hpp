// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/qp.hpp"
#include "netlink.hpp"

namespace rdmend::hand {

// A device and the character device through which processes hold it.
struct Device {
  std::uint32_t index = 0;
  std::string name;            // "rxe1"
  std::string uverbs;          // "uverbs0"
  dev_t number = 0;            // of the character device: what a descriptor must be before it is used
  std::uint32_t driver_id = 0;
};

// RDMA netlink, opened before the sandbox closes. Blocking, each answer within five seconds.
class RdmaNetlink {
 public:
  static Result<RdmaNetlink> open();
  Result<Device> device(std::uint32_t index);
  // All QPs of the device, the kernel's own too. An error when there are more than kMostQps.
  Result<std::vector<QpInfo>> qps(const Device& device);

  static constexpr std::size_t kMostQps = std::size_t{1} << 17;

 private:
  explicit RdmaNetlink(Netlink netlink) : netlink_(std::move(netlink)) {}
  Result<void> ask(std::vector<char>& request, Netlink::Callback callback, void* data);

  Netlink netlink_;
};

}  // namespace rdmend::hand
