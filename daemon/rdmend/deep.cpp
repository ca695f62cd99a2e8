// SPDX-License-Identifier: Apache-2.0
#include "rdmend/deep.hpp"

namespace rdmend::daemon {
namespace {

constexpr milliseconds kDeadline{5000};

// One look under way: the requests of all devices, and what came back so far.
struct Look {
  std::vector<DeepAnswer> answers;
  std::size_t due = 0;
  std::function<void(const std::vector<DeepAnswer>&)> done;
};

wire::HandRequest request_of(const QpDump& dump) {
  wire::HandRequest out;
  out.kind = wire::HandRequest::Kind::query;
  out.device = dump.device;
  for (const auto& qp : dump.qps) {
    const bool connected =
        qp.type == static_cast<std::uint8_t>(QpType::rc) || qp.type == static_cast<std::uint8_t>(QpType::uc);
    if (!connected || !qp.kernel_owner.empty() || out.qps.size() == wire::kHandMostQps) continue;
    out.device_index = qp.device_index;
    out.qps.push_back(wire::hand_qp(qp));
  }
  return out;
}

void take(const std::shared_ptr<Look>& look, std::size_t index, const Result<wire::HandReply>& reply) {
  auto& answer = look->answers[index];
  answer.error = reply ? reply->error : reply.error().message;
  if (reply) answer.qps = reply->qps;
  if (--look->due == 0) look->done(look->answers);
}

}  // namespace

void look_deep(Core& core, const std::vector<QpDump>& dumps,
               std::function<void(const std::vector<DeepAnswer>&)> done) {
  auto look = std::make_shared<Look>();
  look->answers.resize(dumps.size());
  const auto unavailable = core.hand.unavailable();
  std::vector<std::pair<std::size_t, wire::HandRequest>> requests;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    auto request = request_of(dumps[i]);
    if (!unavailable.empty() || core.looking_deep)
      look->answers[i].error = unavailable.empty() ? "another look is under way" : unavailable;
    else if (!request.qps.empty())
      requests.emplace_back(i, std::move(request));
  }
  if (requests.empty()) return done(look->answers);
  core.looking_deep = true;
  look->due = requests.size();
  look->done = [&core, done = std::move(done)](const std::vector<DeepAnswer>& answers) {
    core.looking_deep = false;
    done(answers);
  };
  for (auto& [index, request] : requests)
    core.hand.request(std::move(request), kDeadline,
                      [look, i = index](const Result<wire::HandReply>& reply) { take(look, i, reply); });
}

}  // namespace rdmend::daemon
