// SPDX-License-Identifier: Apache-2.0
#include "rdmend/notify.hpp"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>

#include "base/text.hpp"

namespace rdmend::daemon {

Notify::Notify(Reactor& reactor) {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return;
  const auto period = std::max(milliseconds{1}, milliseconds{microseconds / 1000 / 3});
  watchdog_ = reactor.every(period, [] { sd_notify(0, "WATCHDOG=1"); });
}

void Notify::ready(const std::string& status) const { sd_notify(0, fmt::format("READY=1\nSTATUS={}", printable(status)).c_str()); }

void Notify::reloading() const {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();  // systemd wants CLOCK_MONOTONIC, which it is
  sd_notify(0, fmt::format("RELOADING=1\nMONOTONIC_USEC={}", std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count()).c_str());
}

void Notify::stopping() const { sd_notify(0, "STOPPING=1\nSTATUS=ending"); }

void Notify::status(const std::string& text) {
  if (text == told_) return;
  told_ = text;
  sd_notify(0, ("STATUS=" + printable(text)).c_str());
}

}  // namespace rdmend::daemon
