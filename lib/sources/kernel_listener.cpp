// SPDX-License-Identifier: Apache-2.0
#include "sources/kernel_listener.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

namespace rdmend::sources {
namespace {

constexpr int kQueueBytes = 1 << 20;
constexpr int kMostAtOnce = 256;  // messages a wake-up: a storm must not keep the loop

}  // namespace

Result<KernelListener> KernelListener::open(Reactor& reactor, const KernelGroups& which, std::function<void(std::span<const std::byte>)> hear,
                                            std::function<void(int fd)> lost) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, which.protocol));
  if (!fd) return errno_error(std::string("opening ") + which.what, errno);
  // A whole machine's devices may come at once; forcing the size needs a capability, which most of us have not got.
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kQueueBytes, sizeof kQueueBytes);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = which.groups;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno_error(std::string("binding ") + which.what, errno);
  auto on_readable = [descriptor = fd.get(), hear = std::move(hear), lost = std::move(lost)](Reactor::Ready) {
    std::array<std::byte, 8192> message;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    for (int i = 0; i < kMostAtOnce; ++i) {
      sockaddr_nl from{};
      socklen_t from_size = sizeof from;
      const auto length = recvfrom(descriptor, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_size);
      if (length < 0 && errno == EINTR) continue;
      if (length < 0 && errno == ENOBUFS) lost(descriptor);
      if (length < 0) return;
      if (from.nl_pid != 0) continue;  // any process may send here; only the kernel is believed
      hear(std::span(message).first(static_cast<std::size_t>(length)));
    }
  };
  auto watch = reactor.watch(fd.get(), {.readable = true}, std::move(on_readable));
  return KernelListener(std::move(fd), std::move(watch));
}

}  // namespace rdmend::sources
