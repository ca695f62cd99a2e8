// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/qp.hpp"

// The decisions of raise_min_rnr_timer as pure functions: whom, to what, and was it any good.
namespace rdmend::remedies {

struct TimerSettings {
  double factor = 4;
  std::chrono::microseconds ceiling = std::chrono::milliseconds{10};
};

// The code for a QP whose timer has code `current`: its duration x factor, rounded up to a code, at most the
// ceiling. nullopt when the QP is at or above the ceiling: it is left alone.
std::optional<std::uint8_t> raised_code(std::uint8_t current, const TimerSettings& settings);

// A process's RC QPs of the port in RTR or RTS whose rq_psn moved between two dumps of the device: those that
// receive.
struct Receivers {
  std::vector<QpInfo> moving;
  std::size_t candidates = 0;  // RC, RTR or RTS, of the port, a process's
  std::size_t silent = 0;      // of these: the driver does not tell their rq_psn
};
Receivers moving_receivers(const QpDump& previous, const QpDump& latest, const std::string& port);

// Is `now` (of a later dump) still the QP that `then` was? The thread that made it may have ended meanwhile.
bool same_qp(const QpInfo& now, std::uint32_t qpn, std::uint32_t pid, std::uint32_t remote_qpn);

// One QP whose timer was raised: what it takes to find it again and to give its own value back.
struct RaisedQp {
  std::uint32_t qpn = 0, pid = 0, remote_qpn = 0;
  std::uint8_t before = 0, after = 0;  // codes
  bool global = false;
  std::array<std::uint8_t, 16> remote_gid{};
  std::string text;  // "rxe2/1 qpn 17 (ib_send_bw, pid 812)"
};
// What is written down before anything is changed.
struct RaiseRecord {
  std::string device, port;
  std::vector<RaisedQp> qps;
};
std::string encode(const RaiseRecord& record);
std::optional<RaiseRecord> decode_raise_record(const std::string& text);

// What the port and its QPs did in one stretch of time, a second.
struct Flow {
  std::optional<double> naks;      // RNR NAKs sent
  std::optional<double> packets;   // packets received
  std::optional<double> accepted;  // packets that the QPs acted on took in order, by their rq_psn
};

struct Judgement {
  bool better = false;
  std::string reason;
  std::map<std::string, std::string> figures;
};
// NAKs per received packet fell, and packets received a second did not fall by more than 10 %. Packets that a
// peer sends again after a NAK are received too and fall with the NAKs: where the port's count fell by more,
// the QPs' own rq_psn decides.
Judgement judge(const Flow& before, const Flow& after);

}  // namespace rdmend::remedies
