// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "rdmend/loop.hpp"

namespace rdmend::test {

// Turns the loop until `condition` holds, looking at it every millisecond too: for what the loop itself does not hear of.
inline bool until(daemon::Loop& loop, const std::function<bool()>& condition, milliseconds bound = milliseconds{10'000}) {
  const auto tick = loop.every(milliseconds{1}, [] {});
  return loop.run_until(condition, bound);
}

}  // namespace rdmend::test
