// SPDX-License-Identifier: Apache-2.0
#include "remedies/receive_history.hpp"

#include <catch2/catch.hpp>

#include "rc_qp.hpp"

using namespace rdmend;
using namespace rdmend::remedies;
using rdmend::test::rc_qp;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kFirstSample{1000h};

RaisedQp counted(std::uint32_t qpn) {
  RaisedQp out;
  out.qpn = qpn;
  out.pid = 812;
  out.remote_qpn = 100 + qpn;
  return out;
}

struct History : ReceiveHistory {
  void dump(milliseconds at, std::vector<QpInfo> qps) { take({"rxe2", kFirstSample + at, std::move(qps), false}); }
  [[nodiscard]] std::optional<double> rate(milliseconds from, milliseconds to,
                                           std::vector<RaisedQp> qps = {counted(1)},
                                           std::optional<double> packets = 1000) const {
    return accepted_per_second(qps, kFirstSample + from, kFirstSample + to, packets);
  }
};

}  // namespace

TEST_CASE(
    "accepted packets are counted over the longest stretch of the window, not over the last two dumps") {
  History history;
  history.dump(0s, {rc_qp(1, 500)});
  history.dump(30s, {rc_qp(1, 30'500)});
  history.dump(58s, {rc_qp(1, 58'500)});
  history.dump(60s, {rc_qp(1, 66'500)});  // a burst: 4000 a second in these 2 s
  CHECK(history.rate(59s, 60s) == std::nullopt);
  CHECK(history.rate(58s, 60s) == 4000);
  CHECK(history.rate(20s, 60s) == 36'000.0 / 30);
  CHECK(history.rate(0s, 60s) == 66'000.0 / 60);
  CHECK(history.rate(-10s, 70s) == 66'000.0 / 60);
  CHECK(history.rate(0s, 59s) == 58'000.0 / 58);  // what comes after the window does not count
  CHECK(history.rate(61s, 70s) == std::nullopt);
  CHECK(History{}.rate(0s, 60s) == std::nullopt);
}

TEST_CASE("a PSN that wraps is followed, one that may have gone round is not: a shorter stretch is taken") {
  History history;
  history.dump(0s, {rc_qp(1, 0xffff00)});
  history.dump(58s, {rc_qp(1, 0x000100)});
  history.dump(60s, {rc_qp(1, 0x000300)});
  CHECK(history.rate(0s, 60s) == 1024.0 / 60);
  CHECK(history.rate(0s, 60s, {counted(1)}, 1e6) == 256);  // in 60 s 60 million packets, in 2 s 2 million
  CHECK(history.rate(0s, 60s, {counted(1)}, 9e6) == std::nullopt);  // 18 million in 2 s
  CHECK(history.rate(0s, 60s, {counted(1)}, std::nullopt) == 1024.0 / 60);
}

TEST_CASE("only the same QP of a process counts, and only if its driver tells") {
  History history;
  auto other = rc_qp(2, 10);
  other.remote_qpn = 7;  // the number was another connection's
  auto orphan = rc_qp(3, 20);
  orphan.pid = 0;  // its thread has ended since
  auto kernel = rc_qp(5, 0);
  kernel.kernel_owner = "nvme_rdma";
  history.dump(0s, {rc_qp(1, 10), other, rc_qp(3, 10), rc_qp(4, std::nullopt), kernel});
  history.dump(10s, {rc_qp(4, std::nullopt), orphan, rc_qp(1, 110), rc_qp(2, 10), kernel});
  CHECK(history.rate(0s, 10s, {counted(1)}) == 10);
  CHECK(history.rate(0s, 10s, {counted(3)}) == 1);
  CHECK(history.rate(0s, 10s, {counted(1), counted(2), counted(3), counted(9)}) == 11);
  for (const std::uint32_t qpn : {2U, 4U, 5U, 9U})
    CHECK(history.rate(0s, 10s, {counted(qpn)}) == std::nullopt);
  CHECK(history.rate(0s, 10s, {}) == std::nullopt);
}

TEST_CASE("a QP that connected within the window shortens the stretch, so that it is counted too") {
  History history;
  history.dump(0s, {rc_qp(1, 0)});
  history.dump(30s, {rc_qp(1, 3000), rc_qp(2, 0)});
  history.dump(60s, {rc_qp(1, 6000), rc_qp(2, 6000)});
  CHECK(history.rate(0s, 60s, {counted(1), counted(2)}) == 300);
  CHECK(history.rate(0s, 60s, {counted(1)}) == 100);
}

TEST_CASE("what is kept is bounded, in time and in number, and a clock that is set back begins anew") {
  History history;
  for (int i = 0; i <= 5; ++i) history.dump(30s * i, {rc_qp(1, static_cast<std::uint32_t>(3000 * i))});
  CHECK(history.rate(0s, 29s) == std::nullopt);  // gone: only two minutes are kept
  CHECK(history.rate(0s, 150s) == 12'000.0 / 120);
  for (int i = 1; i <= 20; ++i)
    history.dump(150s + 1s * i, {rc_qp(1, static_cast<std::uint32_t>(15'000 + 200 * i))});
  CHECK(history.rate(0s, 170s) == 200);
  CHECK(history.rate(0s, 155s) == std::nullopt);  // only the last 16
  history.dump(10s, {rc_qp(1, 5)});
  CHECK(history.rate(0s, 200s) == std::nullopt);
  history.dump(20s, {rc_qp(1, 105)});
  CHECK(history.rate(0s, 200s) == 10);
}
