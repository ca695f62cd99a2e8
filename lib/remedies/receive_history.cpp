// SPDX-License-Identifier: Apache-2.0
#include "remedies/receive_history.hpp"

#include <algorithm>

namespace rdmend::remedies {
namespace {

constexpr std::uint32_t kPsnMask = 0xff'ffff;

}  // namespace

void ReceiveHistory::take(const QpDump& dump) {
  // A clock that was set back would make stretches of no length.
  std::erase_if(moments_, [&](const Moment& m) { return m.at >= dump.at || dump.at - m.at > kLongest; });
  if (moments_.size() == kMostDumps) moments_.pop_front();
  Moment moment{dump.at, {}};
  for (const auto& qp : dump.qps)
    if (static_cast<QpType>(qp.type) == QpType::rc && qp.rq_psn && qp.kernel_owner.empty())
      moment.marks.push_back({qp.qpn, qp.pid, qp.remote_qpn.value_or(0), *qp.rq_psn});
  std::sort(moment.marks.begin(), moment.marks.end(),
            [](const Mark& a, const Mark& b) { return a.qpn < b.qpn; });
  moments_.push_back(std::move(moment));
}

const ReceiveHistory::Mark* ReceiveHistory::find(const Moment& moment, const RaisedQp& qp) {
  const auto at = std::lower_bound(moment.marks.begin(), moment.marks.end(), qp.qpn,
                                   [](const Mark& mark, std::uint32_t qpn) { return mark.qpn < qpn; });
  if (at == moment.marks.end() || at->qpn != qp.qpn || at->remote_qpn != qp.remote_qpn) return nullptr;
  return at->pid == qp.pid || at->pid == 0 || qp.pid == 0
             ? &*at
             : nullptr;  // the thread that made it may have ended
}

std::optional<double> ReceiveHistory::accepted_per_second(const std::vector<RaisedQp>& qps, Timestamp from,
                                                          Timestamp to, std::optional<double> packets) const {
  const auto last =
      std::find_if(moments_.rbegin(), moments_.rend(), [&](const Moment& m) { return m.at <= to; });
  if (last == moments_.rend()) return std::nullopt;
  std::size_t most_known = 0;
  std::optional<double> found;
  for (const auto& first : moments_) {
    if (first.at < from) continue;
    if (first.at >= last->at) break;
    const std::chrono::duration<double> span = last->at - first.at;
    if (packets.value_or(0) * span.count() >= kPsnMask) continue;
    std::size_t known = 0;
    double accepted = 0;
    for (const auto& qp : qps) {
      const auto* begin = find(first, qp);
      const auto* end = find(*last, qp);
      if (begin == nullptr || end == nullptr) continue;
      ++known;
      accepted += (end->rq_psn - begin->rq_psn) & kPsnMask;
    }
    if (known <= most_known) continue;
    most_known = known;
    found = accepted / span.count();
  }
  return found;
}

}  // namespace rdmend::remedies
