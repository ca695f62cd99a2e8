// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// What the hand answered for one QP of a batch; `error` also when the whole request failed.
struct HandAnswer {
  std::uint32_t qpn = 0;
  std::uint32_t tgid = 0;
  std::optional<wire::QpAttributes> before, after;
  std::string error;
  bool whole_request_failed = false;  // so it is not known what became of this QP
};

// Any number of QPs as requests of at most wire::kHandMostQps, one after the other, so that the hand's
// batches stay short. `done` runs once, with one answer a QP, in their order; not at all when `alive` has
// ended.
void ask_hand(Hand& hand, wire::HandRequest request, milliseconds deadline, std::weak_ptr<bool> alive,
              std::function<void(std::vector<HandAnswer>)> done);

}  // namespace rdmend::remedies
