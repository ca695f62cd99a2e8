// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "sources/nldev.hpp"

namespace rdmend::sources {

// A socket to RDMA netlink. The kernel answers inside send(), so a request may block as long as the device's firmware does:
// used in workers, each with a socket of its own.
class NlSocket {
 public:
  static Result<NlSocket> open();
  // Sends the request and calls `visit` with every payload of its answer. An error of `visit` ends it.
  Result<void> ask(const nldev::Request& request, const std::function<Result<void>(nldev::Payload)>& visit);

  // Asks for one thing: `decode` is applied to the only payload.
  template <class T>
  Result<T> get(const nldev::Request& request, Result<T> (*decode)(nldev::Payload)) {
    std::optional<T> got;
    const auto asked = ask(request, [&](nldev::Payload payload) -> Result<void> {
      auto decoded = decode(payload);
      if (!decoded) return decoded.error();
      got = std::move(*decoded);
      return {};
    });
    if (!asked) return asked.error();
    if (!got) return Error{"rdma netlink: no answer", EBADMSG};
    return std::move(*got);
  }

 private:
  explicit NlSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
  std::uint32_t sequence_ = 0;
};

Result<std::vector<nldev::Device>> list_devices(NlSocket& socket);

}  // namespace rdmend::sources
