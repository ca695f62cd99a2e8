// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace rdmend::daemon {

// Below it is not worth the while, above it would hold up the loop for too long.
inline constexpr std::size_t kLeastToCompress = 1024;
inline constexpr std::size_t kMostToCompress = 4U << 20U;

// `text` as gzip, at the level that takes the least time; none when it is out of those bounds or there is no memory.
std::optional<std::string> gzip(std::string_view text);

}  // namespace rdmend::daemon
