// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/qp.hpp"
#include "wire/hand.hpp"

namespace rdmend::verbs {

// QPs of a netlink listing and QPs that answered by handle, which can only be each other: indexes into the two spans.
// One of each: they are the same QP. Equal numbers: they are the same QPs, but which is which cannot be told ("alike").
// Unequal numbers: nothing can be said; another QP that we do not see looks the same.
struct MatchGroup {
  std::vector<std::size_t> listed;
  std::vector<std::size_t> answered;
  [[nodiscard]] bool exact() const { return listed.size() == 1 && answered.size() == 1; }
  [[nodiscard]] bool closed() const { return !answered.empty() && listed.size() == answered.size(); }
};

// A uverbs handle does not tell its QP number, so netlink's QPs and the handles' are matched by what both tell: state, port, peer's QPN
// and PSNs. PSNs move while one looks, forwards and mod 2^24 only: an answer lies within kMostForward of the listing before it and, when
// `later` (a listing made after the answers) has the QP too, not beyond that. Only connected QPs (RC and UC from RTR on) are matched.
// Every connected QP of `listed` is in exactly one group.
std::vector<MatchGroup> match_qps(std::span<const QpInfo> listed, std::span<const QpInfo> later, std::span<const wire::QpAttributes> answered);

inline constexpr std::uint32_t kMostForward = 1U << 20;
// Has a peer, hence attributes to tell it by.
bool connected(const QpInfo& qp);

}  // namespace rdmend::verbs
