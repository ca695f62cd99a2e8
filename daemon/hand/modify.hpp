// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "owner.hpp"
#include "scan.hpp"
#include "wire/hand.hpp"

namespace rdmend::hand {

// A QP of the request and its place in the reply.
struct Target {
  const wire::HandQp* asked = nullptr;
  wire::HandQpReply* reply = nullptr;
};

// `answers` are the targets' QPs, as many; when there are several, which is which cannot be told.

// Gives each target what its QP answered; refuses where that would depend on which is which.
void tell(const std::vector<Target>& targets, const std::vector<Answer>& answers);

// Sets min_rnr_timer of all of them, after a last look at each; refuses where they differ in what would be written.
void modify(Hold& hold, std::uint32_t driver_id, const std::vector<Target>& targets, const std::vector<Answer>& answers);

// Does what was expected of a QP still hold? PSNs and what the hand never touches may have moved.
bool holds(const wire::QpAttributes& expected, const wire::QpAttributes& now);

}  // namespace rdmend::hand
