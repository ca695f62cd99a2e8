// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/reactor.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace rdmend::sources {

// Which broadcasts of the kernel: a netlink protocol and its groups. `what` stands in the error of a failure.
struct KernelGroups {
  int protocol = 0;
  std::uint32_t groups = 0;
  const char* what = "";
};

// Hears what the kernel broadcasts, on the loop; messages of other processes are passed over. Each wake-up reads a bounded number.
class KernelListener {
 public:
  // `lost` is called with the socket when the kernel dropped messages: look at everything again.
  static Result<KernelListener> open(Reactor& reactor, const KernelGroups& which, std::function<void(std::span<const std::byte>)> hear,
                                     std::function<void(int fd)> lost);

 private:
  KernelListener(UniqueFd fd, Reactor::Handle watch) : fd_(std::move(fd)), watch_(std::move(watch)) {}
  UniqueFd fd_;
  Reactor::Handle watch_;
};

}  // namespace rdmend::sources
