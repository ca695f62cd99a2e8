// SPDX-License-Identifier: Apache-2.0
#include "sources/qp_states.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kStart{1000h};

QpInfo qp(std::uint32_t number, QpState state, std::uint32_t pid = 812) {
  QpInfo made;
  made.device = "rxe1";
  made.port = 1;
  made.qpn = number;
  made.type = static_cast<std::uint8_t>(QpType::rc);
  made.state = static_cast<std::uint8_t>(state);
  made.pid = pid;
  made.comm = "ib_send_bw";
  return made;
}

QpReading reading(std::vector<QpInfo> qps) {
  QpReading made;
  made.owners.assign(qps.size(), 800);
  made.qps = std::move(qps);
  return made;
}

std::map<std::string, double> told(const std::vector<Sample>& samples) {
  std::map<std::string, double> all;
  for (const auto& sample : samples) CHECK(all.emplace(sample.labels.text(), sample.value).second);
  return all;
}

const std::string kErr = R"(rdma_qps{device="rxe1",state="ERR",type="RC"})";
const std::string kRts = R"(rdma_qps{device="rxe1",state="RTS",type="RC"})";
const std::string kStuck = R"(rdma_qps_stuck_in_error{device="rxe1"})";

}  // namespace

TEST_CASE("QPs are counted by type and state; RC in ERR is there from the start, and what had QPs goes to 0") {
  QpSeries series("rxe1");
  auto all = told(series.step(reading(std::vector<QpInfo>{}), kStart, 30s));
  CHECK(all.at(kErr) == 0);
  CHECK_FALSE(all.contains(kRts));
  all = told(series.step(reading({qp(17, QpState::rts), qp(18, QpState::rts), qp(19, QpState::err)}), kStart + 30s, 30s));
  CHECK(all.at(kRts) == 2);
  CHECK(all.at(kErr) == 1);
  all = told(series.step(reading(std::vector<QpInfo>{}), kStart + 60s, 30s));
  CHECK(all.at(kRts) == 0);
  CHECK(all.at(kErr) == 0);
}

TEST_CASE("each QP is told with its process") {
  QpSeries series("rxe1");
  const auto all = told(series.step(reading({qp(17, QpState::rts)}), kStart, 30s));
  CHECK(all.at(R"(rdma_qp_info{comm="ib_send_bw",device="rxe1",pid="800",port="1",qpn="17",state="RTS",type="RC"})") == 1);
  auto connected = qp(17, QpState::rts);
  connected.peer = "10.0.0.2";  // rdma_cm's
  CHECK(told(series.step(reading({connected}), kStart, 30s))
            .contains(R"(rdma_qp_info{comm="ib_send_bw",device="rxe1",peer="10.0.0.2",pid="800",port="1",qpn="17",state="RTS",type="RC"})"));
}

TEST_CASE("a QP is stuck in error when two scans find it so, of the same process") {
  QpSeries series("rxe1");
  CHECK(told(series.step(reading({qp(17, QpState::err)}), kStart, 30s)).at(kStuck) == 0);
  // A scan out of rhythm, a moment later, proves nothing: teardown takes a moment too.
  CHECK(told(series.step(reading({qp(17, QpState::err)}), kStart + 100ms, 30s)).at(kStuck) == 0);
  CHECK(told(series.step(reading({qp(17, QpState::err)}), kStart + 30s, 30s)).at(kStuck) == 1);
  // The number was given to somebody else, who is in error for the first time.
  CHECK(told(series.step(reading({qp(17, QpState::err, 999)}), kStart + 60s, 30s)).at(kStuck) == 0);
  CHECK(told(series.step(reading({qp(17, QpState::rts, 999)}), kStart + 90s, 30s)).at(kStuck) == 0);
  CHECK(told(series.step(reading({qp(17, QpState::err, 999)}), kStart + 120s, 30s)).at(kStuck) == 0);
}

TEST_CASE("a scan that is not whole says so") {
  QpSeries series("rxe1");
  auto cut = reading({qp(17, QpState::rts)});
  CHECK(told(series.step(cut, kStart, 30s)).at(R"(rdma_qps_truncated{device="rxe1"})") == 0);
  cut.truncated = true;
  CHECK(told(series.step(cut, kStart + 30s, 30s)).at(R"(rdma_qps_truncated{device="rxe1"})") == 1);
}
