// SPDX-License-Identifier: Apache-2.0
#include "model/neighbour.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace rdmend {

std::string neighbour_state_name(std::uint16_t state) {
  static constexpr std::array kNames{"incomplete", "reachable", "stale", "delay", "probe", "failed", "noarp", "permanent"};
  for (std::size_t bit = 0; bit < kNames.size(); ++bit)
    if (state == 1U << bit) return kNames[bit];
  return "state " + std::to_string(state);
}

bool neighbour_resolved(std::uint16_t state) {
  using enum NeighbourState;
  for (const auto known : {reachable, stale, delay, probe, noarp, permanent})
    if (state == static_cast<std::uint16_t>(known)) return true;
  return false;
}

std::string neighbour_address(const std::string& peer) {
  static constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = peer.starts_with(kMapped) && peer.find('.') != std::string::npos;
  return mapped ? peer.substr(kMapped.size()) : peer;
}

}  // namespace rdmend
