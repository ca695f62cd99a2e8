// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rdmend/core.hpp"
#include "wire/hand.hpp"

namespace rdmend::daemon {

struct DeepAnswer {
  std::string error;
  std::vector<wire::HandQpReply> qps;
};

// Asks the hand for the real attributes of the processes' connected QPs of `dumps`; `done` gets an answer a dump, in their
// order. One look at a time: a second one meanwhile is answered with an error.
void look_deep(Core& core, const std::vector<QpDump>& dumps, std::function<void(const std::vector<DeepAnswer>&)> done);

}  // namespace rdmend::daemon
