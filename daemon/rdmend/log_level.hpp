// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/log.hpp"

namespace rdmend::daemon {

// The names that log_level takes; the configuration lets no other through.
inline void set_log_level(std::string_view name) {
  log::set_level(name == "debug" ? log::Level::debug : name == "warning" ? log::Level::warning : name == "error" ? log::Level::error : log::Level::info);
}

}  // namespace rdmend::daemon
