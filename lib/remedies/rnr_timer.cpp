// SPDX-License-Identifier: Apache-2.0
#include "remedies/rnr_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "advice/timers.hpp"

namespace rdmend::remedies {
namespace {
constexpr double kMostFall = 0.10;
constexpr std::size_t kMostQps = 65'536;  // of a record; more are not written, so more are not believed

bool receives(const QpInfo& qp, const std::string& port) {
  const auto state = static_cast<QpState>(qp.state);
  return static_cast<QpType>(qp.type) == QpType::rc && (state == QpState::rtr || state == QpState::rts) &&
         qp.kernel_owner.empty() && std::to_string(qp.port) == port;
}

std::string hex(const std::array<std::uint8_t, 16>& gid) {
  std::string text;
  for (const auto byte : gid) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<std::array<std::uint8_t, 16>> gid_of(const std::string& text) {
  std::array<std::uint8_t, 16> gid{};
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (std::size_t i = 0; i < gid.size(); ++i)
    gid[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return gid;
}

std::optional<RaisedQp> raised_of(const nlohmann::json& json) {
  RaisedQp qp;
  qp.qpn = json.at("qpn").get<std::uint32_t>();
  qp.pid = json.at("pid").get<std::uint32_t>();
  qp.remote_qpn = json.at("remote_qpn").get<std::uint32_t>();
  const auto before = json.at("before").get<unsigned>();
  const auto after = json.at("after").get<unsigned>();
  const auto gid = gid_of(json.at("remote_gid").get<std::string>());
  if (before > advice::kMostTimerCode || after > advice::kMostTimerCode || !gid) return std::nullopt;
  qp.before = static_cast<std::uint8_t>(before);
  qp.after = static_cast<std::uint8_t>(after);
  qp.global = json.at("global").get<bool>();
  qp.remote_gid = *gid;
  qp.text = json.at("text").get<std::string>();
  return qp;
}

std::string number(std::optional<double> value) {
  return value ? fmt::format("{:.4g}/s", *value) : "unknown";
}

double share(double naks, double packets) {
  return packets > 0 ? naks / packets : naks > 0 ? 1 : 0;
}

double fall_of(double before, double after) {
  return before > 0 ? 1 - after / before : 0;
}

void note(Judgement& judgement, const char* when, const Flow& flow) {
  judgement.figures[fmt::format("rnr_naks_{}", when)] = number(flow.naks);
  judgement.figures[fmt::format("packets_{}", when)] = number(flow.packets);
  judgement.figures[fmt::format("accepted_{}", when)] = number(flow.accepted);
  if (flow.naks && flow.packets)
    judgement.figures[fmt::format("naks_per_packet_{}", when)] =
        fmt::format("{:.3g}", share(*flow.naks, *flow.packets));
}

}  // namespace

std::optional<std::uint8_t> raised_code(std::uint8_t current, const TimerSettings& settings) {
  const auto ceiling = advice::rnr_code_at_most(settings.ceiling);
  if (!ceiling) return std::nullopt;
  const auto now = advice::rnr_timer(current);
  if (now >= advice::rnr_timer(*ceiling)) return std::nullopt;
  const double wanted = std::ceil(static_cast<double>(now.count()) * settings.factor - 1e-6);
  if (wanted >= static_cast<double>(advice::rnr_timer(*ceiling).count())) return ceiling;
  return advice::rnr_code_at_least(std::chrono::microseconds{static_cast<std::int64_t>(wanted)});
}

bool same_qp(const QpInfo& now, std::uint32_t qpn, std::uint32_t pid, std::uint32_t remote_qpn) {
  return now.qpn == qpn && now.remote_qpn.value_or(0) == remote_qpn &&
         (now.pid == pid || now.pid == 0 || pid == 0);
}

Receivers moving_receivers(const QpDump& previous, const QpDump& latest, const std::string& port) {
  std::map<std::uint32_t, const QpInfo*> earlier;
  for (const auto& qp : previous.qps) earlier[qp.qpn] = &qp;
  Receivers receivers;
  for (const auto& qp : latest.qps) {
    if (!receives(qp, port)) continue;
    ++receivers.candidates;
    if (!qp.rq_psn) ++receivers.silent;
    const auto before = earlier.find(qp.qpn);
    if (before == earlier.end() || !same_qp(*before->second, qp.qpn, qp.pid, qp.remote_qpn.value_or(0)))
      continue;
    if (qp.rq_psn && before->second->rq_psn && *qp.rq_psn != *before->second->rq_psn)
      receivers.moving.push_back(qp);
  }
  return receivers;
}

std::string encode(const RaiseRecord& record) {
  auto qps = nlohmann::json::array();
  for (const auto& qp : record.qps)
    qps.push_back({{"qpn", qp.qpn},
                   {"pid", qp.pid},
                   {"remote_qpn", qp.remote_qpn},
                   {"before", qp.before},
                   {"after", qp.after},
                   {"global", qp.global},
                   {"remote_gid", hex(qp.remote_gid)},
                   {"text", qp.text}});
  return nlohmann::json{{"device", record.device}, {"port", record.port}, {"qps", std::move(qps)}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<RaiseRecord> decode_raise_record(const std::string& text) try {
  const auto json = nlohmann::json::parse(text);
  RaiseRecord record{json.at("device").get<std::string>(), json.at("port").get<std::string>(), {}};
  const auto& qps = json.at("qps");
  if (!qps.is_array() || qps.size() > kMostQps) return std::nullopt;
  for (const auto& item : qps) {
    auto qp = raised_of(item);
    if (!qp) return std::nullopt;
    record.qps.push_back(std::move(*qp));
  }
  return record;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

Judgement judge(const Flow& before, const Flow& after) {
  Judgement judgement;
  note(judgement, "before", before);
  note(judgement, "after", after);
  if (!before.naks || !before.packets || !after.naks || !after.packets) {
    judgement.reason = fmt::format("not verified: RNR NAKs or packets {} are not known",
                                   before.naks && before.packets ? "after it" : "before it");
    return judgement;
  }
  const double share_before = share(*before.naks, *before.packets);
  const double share_after = share(*after.naks, *after.packets);
  const auto naks =
      fmt::format("RNR NAKs per received packet {} from {:.3g} to {:.3g}",
                  share_after < share_before ? "fell" : "did not fall:", share_before, share_after);
  const double fall = fall_of(*before.packets, *after.packets);
  const auto packets =
      fmt::format("packets received went from {} to {}", number(before.packets), number(after.packets));
  if (share_after >= share_before) {
    judgement.reason = naks;
  } else if (fall <= kMostFall) {
    judgement.better = true;
    judgement.reason = fmt::format("{}, {}", naks, packets);
  } else if (before.accepted && after.accepted && fall_of(*before.accepted, *after.accepted) <= kMostFall) {
    judgement.better = true;
    judgement.reason = fmt::format(
        "{}; {}, but the packets that the QPs accepted from {} to {}: what fell was sent twice before", naks,
        packets, number(before.accepted), number(after.accepted));
  } else {
    judgement.reason = fmt::format("{}, but {}: a fall of more than 10 %", naks, packets);
  }
  return judgement;
}

}  // namespace rdmend::remedies
