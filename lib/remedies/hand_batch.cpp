// SPDX-License-Identifier: Apache-2.0
#include "remedies/hand_batch.hpp"

#include <algorithm>

namespace rdmend::remedies {
namespace {

struct Batch {
  Hand& hand;
  wire::HandRequest request;  // without QPs
  std::vector<wire::HandQp> qps;
  milliseconds deadline;
  std::weak_ptr<bool> alive;
  std::function<void(std::vector<HandAnswer>)> done;
  std::vector<HandAnswer> answers;
};

HandAnswer answer_of(const wire::HandQp& asked, const Result<wire::HandReply>& reply) {
  HandAnswer answer;
  answer.qpn = asked.qpn;
  if (!reply || !reply->error.empty()) {
    answer.error = reply ? reply->error : reply.error().message;
    answer.whole_request_failed = true;
    return answer;
  }
  const auto at =
      std::find_if(reply->qps.begin(), reply->qps.end(), [&](const auto& qp) { return qp.qpn == asked.qpn; });
  if (at == reply->qps.end()) {
    answer.error = "the hand did not answer for it";
    answer.whole_request_failed = true;
    return answer;
  }
  answer.tgid = at->tgid;
  answer.before = at->before;
  answer.after = at->after;
  answer.error = at->error;
  return answer;
}

void next(const std::shared_ptr<Batch>& batch) {
  const auto begin = batch->answers.size();
  if (begin >= batch->qps.size()) return batch->done(std::move(batch->answers));
  const auto end = std::min(begin + wire::kHandMostQps, batch->qps.size());
  auto request = batch->request;
  request.qps.assign(batch->qps.begin() + static_cast<std::ptrdiff_t>(begin),
                     batch->qps.begin() + static_cast<std::ptrdiff_t>(end));
  batch->hand.request(std::move(request), batch->deadline,
                      [batch, begin, end](const Result<wire::HandReply>& reply) {
                        if (batch->alive.expired()) return;
                        for (auto i = begin; i < end; ++i)
                          batch->answers.push_back(answer_of(batch->qps[i], reply));
                        next(batch);
                      });
}

}  // namespace

void ask_hand(Hand& hand, wire::HandRequest request, milliseconds deadline, std::weak_ptr<bool> alive,
              std::function<void(std::vector<HandAnswer>)> done) {
  auto qps = std::exchange(request.qps, {});
  next(std::make_shared<Batch>(
      Batch{hand, std::move(request), std::move(qps), deadline, std::move(alive), std::move(done), {}}));
}

}  // namespace rdmend::remedies
