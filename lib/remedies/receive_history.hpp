// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "model/qp.hpp"
#include "remedies/rnr_timer.hpp"

namespace rdmend::remedies {

// How far the RC QPs of one device had received at each of its last dumps: what is kept of these for longer
// than the dumps themselves, 16 bytes a QP.
class ReceiveHistory {
 public:
  static constexpr std::size_t kMostDumps = 16;
  static constexpr milliseconds kLongest{120'000};

  void take(const QpDump& dump);
  // Packets a second that `qps` accepted in order, by the advance of their rq_psn between the last dump of
  // [from, to] and the earliest one there from which, at the port's `packets` a second, no 24-bit PSN can
  // have gone round. A later one is taken when more of the QPs are known from then on. nullopt when there are
  // no two such dumps.
  [[nodiscard]] std::optional<double> accepted_per_second(const std::vector<RaisedQp>& qps, Timestamp from,
                                                          Timestamp to, std::optional<double> packets) const;

 private:
  struct Mark {
    std::uint32_t qpn, pid, remote_qpn, rq_psn;
  };
  struct Moment {
    Timestamp at{};
    std::vector<Mark> marks;  // by QPN
  };
  static const Mark* find(const Moment& moment, const RaisedQp& qp);
  std::deque<Moment> moments_;  // oldest first
};

}  // namespace rdmend::remedies
