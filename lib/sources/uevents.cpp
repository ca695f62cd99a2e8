// SPDX-License-Identifier: Apache-2.0
#include "sources/uevents.hpp"

#include <linux/netlink.h>

#include <string_view>
#include <utility>

namespace rdmend::sources {
namespace {

constexpr std::uint32_t kKernelGroup = 1;

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

Result<KernelListener> listen_for_uevents(Reactor& reactor, std::function<void(const Uevent&)> hear, std::function<void()> lost) {
  return KernelListener::open(
      reactor, {NETLINK_KOBJECT_UEVENT, kKernelGroup, "the uevent socket"},
      [hear = std::move(hear)](std::span<const std::byte> message) {
        if (const auto event = parse_uevent(message)) hear(*event);
      },
      [lost = std::move(lost)](int) { lost(); });
}

}  // namespace rdmend::sources
