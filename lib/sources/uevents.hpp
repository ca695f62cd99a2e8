// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "sources/kernel_listener.hpp"

namespace rdmend::sources {

// A kernel uevent: what became of a device.
struct Uevent {
  std::string action;     // "add", "remove", "move" (a rename), ...
  std::string subsystem;  // "infiniband", "infiniband_verbs", ...
  std::string name;       // last component of its path: "rxe1", "uverbs0"
  std::string old_name;   // of a move
};
// nullopt for what is no kernel uevent (udevd's own messages begin with "libudev").
std::optional<Uevent> parse_uevent(std::span<const std::byte> message);

// The kernel's own broadcasts, not udevd's, which come only after /dev has been dealt with: too late to let a device go.
// `lost` is called when the kernel dropped messages: look at everything again.
Result<KernelListener> listen_for_uevents(Reactor& reactor, std::function<void(const Uevent&)> hear, std::function<void()> lost);

}  // namespace rdmend::sources
