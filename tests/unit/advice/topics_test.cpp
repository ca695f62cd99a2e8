// SPDX-License-Identifier: Apache-2.0
#include "advice/topics.hpp"

#include <catch2/catch.hpp>

#include "advice/evidence.hpp"
#include "store/store.hpp"

using namespace rdmend;
using namespace rdmend::advice;

namespace {

constexpr Timestamp kStart{std::chrono::hours{24 * 365 * 56}};

Labels port_series(const std::string& metric, const std::string& port = "1") {
  return {{std::string(kMetricName), metric}, {"device", "rxe2"}, {"port", port}};
}

// A counter that rises by `each` a second for a minute, from a value of its own.
void feed(store::Store& store, const std::string& metric, double each) {
  for (int i = 0; i <= 60; ++i) store.append(port_series(metric), kStart + seconds{i}, 1000 + each * i);
}

QpInfo qp(std::uint32_t qpn, QpState state, std::uint32_t port = 1, QpType type = QpType::rc) {
  QpInfo info;
  info.device = "rxe2";
  info.port = port;
  info.qpn = qpn;
  info.type = static_cast<std::uint8_t>(type);
  info.state = static_cast<std::uint8_t>(state);
  return info;
}

}  // namespace

TEST_CASE("a counter's rate comes from its points in the window alone") {
  store::Store store({});
  const std::string metric = "rdma_rnr_naks_sent_total";
  const auto at = [&](int second, double value) { store.append(port_series(metric), kStart + seconds{second}, value); };
  at(0, 1'000'000);  // on the left edge: outside
  at(1, 100);
  at(2, 110);
  at(3, 120);
  CHECK(per_second(store, metric, "rxe2", "1", {kStart, kStart + seconds{3}}) == Approx(10));
  CHECK_FALSE(per_second(store, metric, "rxe2", "1", {kStart + seconds{2}, kStart + seconds{3}}));  // one point only
  CHECK_FALSE(per_second(store, metric, "rxe2", "2", {kStart, kStart + seconds{3}}));
  CHECK_FALSE(per_second(store, "rdma_other_total", "rxe2", "1", {kStart, kStart + seconds{3}}));
  at(4, 5);  // a reset: the five came after it
  CHECK(per_second(store, metric, "rxe2", "1", {kStart, kStart + seconds{4}}) == Approx(25.0 / 3));
  at(5, stale_marker());
  CHECK(per_second(store, metric, "rxe2", "1", {kStart, kStart + seconds{5}}) == Approx(25.0 / 3));
}

TEST_CASE("advice about the receive queue says how many receives a pause costs") {
  store::Store store({});
  feed(store, "rdma_rnr_naks_sent_total", 20);
  feed(store, "rdma_packets_received_total", 10'000);
  QpDump dump;
  dump.qps = {qp(17, QpState::rts), qp(18, QpState::rtr), qp(19, QpState::err), qp(20, QpState::rts, 2), qp(21, QpState::rts, 1, QpType::ud)};
  const auto advice = find_topic("receive_queue")->give({store, "rxe2", "1", dump, kStart + seconds{60}});
  CHECK(advice.text ==
        "The responder rxe2/1 sent 20 RNR NAKs/s for 1e+04 packets/s received (2 in a thousand): messages came when no receive was posted."
        " A receiver that may be away for 10 ms needs at least 50 receives posted on each of its 2 RC QPs (for 100 ms: 500), reposted as they"
        " complete, or a shared receive queue of all of them together; a longer min_rnr_timer only lets the peers wait.");
  CHECK(advice.figures.at("receives_for_10ms") == "50");
  CHECK(advice.figures.at("receiving_rc_qps") == "2");
}

TEST_CASE("advice about the receive queue does not make figures up") {
  const store::Store store({});
  const auto advice = find_topic("receive_queue")->give({store, "mlx5_0", "1", QpDump{}, kStart});
  CHECK(advice.text ==
        "Post more receives: mlx5_0/1 is a responder that ran out of them. How many more cannot be said: its RNR NAKs of the last minute"
        " are not known.");
  CHECK(advice.figures.at("rnr_naks_sent") == "unknown");
}

TEST_CASE("advice about the timeout tells loss from late answers") {
  const auto give = [](const store::Store& store) {
    return find_topic("timeout")->give({store, "rxe2", "1", QpDump{}, kStart + seconds{60}});
  };
  const std::string value =
      " For rxe2/1: retry_cnt 7 and timeout code 17 (537 ms) or more. One try lasts 4.096 us x 2^code, and up to four times that; 8 tries last"
      " 4.29 s to 17.2 s, which outlives the 3 s in which a host finds a peer's address again.";
  const std::string where = " Both are set by the application at RTR to RTS (NCCL_IB_TIMEOUT, UCX_RC_TIMEOUT, perftest -u).";
  SECTION("sequence NAKs: loss, a longer timeout does not help") {
    store::Store store({});
    feed(store, "rdma_ack_timeouts_total", 2);
    feed(store, "rdma_sequence_naks_received_total", 50);
    CHECK(give(store).text ==
          "Sequence NAKs (50/s) say that packets are lost or reordered on the way and the peer noticed at once: a longer timeout does not help,"
          " look for discards, congestion and packet spraying." + value + where);
  }
  SECTION("timeouts alone: the timeout may be too short") {
    store::Store store({});
    feed(store, "rdma_ack_timeouts_total", 2);
    feed(store, "rdma_sequence_naks_received_total", 0);
    CHECK(give(store).text ==
          "Timeouts (2/s) without as many sequence NAKs (0/s) say that answers come late or the last packet of a message is lost: the timeout may"
          " be too short." + value + where);
  }
  SECTION("rxe counts no timeouts, and takes 7 for infinite") {
    store::Store store({});
    feed(store, "rdma_retransmissions_total", 3);
    feed(store, "rdma_sequence_naks_received_total", 0);
    auto info = port_series("rdma_port_info");
    info.set("driver", "rxe");
    store.append(info, kStart + seconds{60}, 1);
    CHECK(give(store).text ==
          "3 retransmissions/s, but no sequence NAK came: answers are late or the last packets of messages are lost; the timeout may be too short." +
              value + " On rxe retry_cnt 7 means for ever; 6 is the most that ends." + where);
  }
  SECTION("nothing known") {
    const store::Store store({});
    CHECK(give(store).text == "What the retransmissions come from cannot be told: this driver counts neither timeouts nor sequence NAKs." + value + where);
  }
}

TEST_CASE("every topic has a name of its own, and others are not found") {
  for (const auto& row : topics()) CHECK(find_topic(row.name) == &row);
  CHECK(find_topic("receive_queues") == nullptr);
}
