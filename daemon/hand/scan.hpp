// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "owner.hpp"
#include "wire/hand.hpp"

namespace rdmend::hand {

// A QP that answered: where, and what it said.
struct Answer {
  int number = -1;  // the descriptor's, in its process
  std::uint32_t handle = 0;
  wire::QpAttributes attributes;
};

inline constexpr std::uint32_t kMostHandles = 65'536;

// Tries the handles of every descriptor upwards (the kernel gives out the lowest that is free) until `wanted` QPs answered.
Result<std::vector<Answer>> scan(Hold& hold, std::uint32_t driver_id, std::size_t wanted);

}  // namespace rdmend::hand
