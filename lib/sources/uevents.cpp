// SPDX-License-Identifier: Apache-2.0
#include "sources/uevents.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace rdmend::sources {
namespace {

constexpr std::uint32_t kKernelGroup = 1;
constexpr int kQueueBytes = 1 << 20;
constexpr int kMostAtOnce = 256;  // messages a wake-up: a storm must not keep the loop

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::optional<Uevent> parse_uevent(std::span<const std::byte> message) {
  std::string_view rest(reinterpret_cast<const char*>(message.data()), message.size());
  // "add@/devices/..." NUL, then KEY=value NUL each.
  const auto header = rest.substr(0, rest.find('\0'));
  if (header.find('@') == std::string_view::npos || header.size() == rest.size()) return std::nullopt;
  rest.remove_prefix(header.size() + 1);
  Uevent event;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = line.substr(0, equals);
    const auto value = line.substr(equals + 1);
    if (key == "ACTION") event.action = value;
    if (key == "SUBSYSTEM") event.subsystem = value;
    if (key == "DEVPATH") event.name = last_component(value);
    if (key == "DEVPATH_OLD") event.old_name = last_component(value);
  }
  if (event.action.empty() || event.subsystem.empty() || event.name.empty()) return std::nullopt;
  return event;
}

Result<UeventListener> UeventListener::open(Reactor& reactor, std::function<void(const Uevent&)> hear, std::function<void()> lost) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!fd) return errno_error("opening the uevent socket", errno);
  // A whole machine's devices may come at once; forcing the size needs a capability, which most of us have not got.
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kQueueBytes, sizeof kQueueBytes);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno_error("binding the uevent socket", errno);
  auto on_readable = [descriptor = fd.get(), hear = std::move(hear), lost = std::move(lost)](Reactor::Ready) {
    std::array<std::byte, 8192> message{};
    for (int i = 0; i < kMostAtOnce; ++i) {
      sockaddr_nl from{};
      socklen_t from_size = sizeof from;
      const auto length = recvfrom(descriptor, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_size);
      if (length < 0 && errno == EINTR) continue;
      if (length < 0 && errno == ENOBUFS) lost();
      if (length < 0) return;
      if (from.nl_pid != 0) continue;  // any process may send here; only the kernel is believed
      if (const auto event = parse_uevent(std::span(message).first(static_cast<std::size_t>(length)))) hear(*event);
    }
  };
  auto watch = reactor.watch(fd.get(), {.readable = true}, std::move(on_readable));
  return UeventListener(std::move(fd), std::move(watch));
}

}  // namespace rdmend::sources
