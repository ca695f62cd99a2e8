// SPDX-License-Identifier: Apache-2.0
#include "remedies/hand_batch.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;
using namespace rdmend::remedies;

namespace {

struct CountingHand : Hand {
  void request(wire::HandRequest request, milliseconds, std::function<void(Result<wire::HandReply>)> done) override {
    sizes.push_back(request.qps.size());
    if (sizes.size() == fails_at) return done(Error{"the hand ended"});
    wire::HandReply reply;
    for (auto qp = request.qps.rbegin(); qp != request.qps.rend(); ++qp) {  // in another order than asked
      if (qp->qpn == 7) continue;
      wire::HandQpReply one;
      one.qpn = qp->qpn;
      one.tgid = 2 * qp->qpn;
      reply.qps.push_back(one);
    }
    done(std::move(reply));
  }
  [[nodiscard]] std::string unavailable() const override { return {}; }
  std::vector<std::size_t> sizes;
  std::size_t fails_at = 0;
};

wire::HandRequest request_of(std::size_t count) {
  wire::HandRequest request;
  for (std::size_t i = 0; i < count; ++i) {
    wire::HandQp qp;
    qp.qpn = static_cast<std::uint32_t>(i + 1);
    request.qps.push_back(qp);
  }
  return request;
}

}  // namespace

TEST_CASE("a long list of QPs is asked for in short batches, and every QP has its answer") {
  CountingHand hand;
  const auto alive = std::make_shared<bool>(true);
  const auto count = 2 * wire::kHandMostQps + 5;
  std::vector<HandAnswer> answers;
  SECTION("all is well") {
    ask_hand(hand, request_of(count), seconds{1}, alive, [&](auto got) { answers = std::move(got); });
    CHECK(hand.sizes == std::vector<std::size_t>{wire::kHandMostQps, wire::kHandMostQps, 5});
    REQUIRE(answers.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(answers[i].qpn == i + 1);
      CHECK(answers[i].tgid == (i + 1 == 7 ? 0 : 2 * (i + 1)));
    }
    CHECK(answers[6].error == "the hand did not answer for it");
    CHECK(answers[6].whole_request_failed);
  }
  SECTION("one batch fails: the others still count") {
    hand.fails_at = 2;
    ask_hand(hand, request_of(count), seconds{1}, alive, [&](auto got) { answers = std::move(got); });
    REQUIRE(answers.size() == count);
    CHECK(answers[0].error.empty());
    CHECK(answers[wire::kHandMostQps].error == "the hand ended");
    CHECK(answers[wire::kHandMostQps].whole_request_failed);
    CHECK(answers.back().error.empty());
  }
  SECTION("nothing to ask") {
    bool done = false;
    ask_hand(hand, request_of(0), seconds{1}, alive, [&](const auto& got) { done = got.empty(); });
    CHECK(done);
    CHECK(hand.sizes.empty());
  }
}

TEST_CASE("an answer that comes too late for its action is dropped") {
  CountingHand hand;
  auto alive = std::make_shared<bool>(true);
  const std::weak_ptr<bool> token = alive;
  alive.reset();
  ask_hand(hand, request_of(1), seconds{1}, token, [](const auto&) { FAIL("the action is gone"); });
  CHECK(hand.sizes.size() == 1);
}
