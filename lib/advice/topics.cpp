// SPDX-License-Identifier: Apache-2.0
#include "advice/topics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "advice/evidence.hpp"
#include "advice/timers.hpp"

namespace rdmend::advice {
namespace {

constexpr std::array<milliseconds, 2> kPauses{milliseconds{10}, milliseconds{100}};  // a receiver's, as schedulers make them
constexpr milliseconds kReconvergence{3000};  // mcast_solicit 3 x retrans_time 1 s: until a host gives a neighbour up

std::string rate_text(std::optional<double> rate) { return rate ? fmt::format("{:.4g}/s", *rate) : "unknown"; }

std::optional<double> rate(const Scene& scene, const char* metric) {
  return per_second(scene.store, metric, scene.device, scene.port, {scene.now - kAdviceWindow, scene.now});
}

std::size_t receiving_qps(const Scene& scene) {
  return static_cast<std::size_t>(std::count_if(scene.qps.qps.begin(), scene.qps.qps.end(), [&](const QpInfo& qp) {
    const auto state = static_cast<QpState>(qp.state);
    return static_cast<QpType>(qp.type) == QpType::rc && std::to_string(qp.port) == scene.port &&
           (state == QpState::rtr || state == QpState::rts) && qp.kernel_owner.empty();
  }));
}

// Every message takes one receive and at least one packet, so packets a second bound the receives a second.
std::string receives_for(milliseconds pause, double packets, std::size_t qps) {
  const double needed = std::ceil(packets * static_cast<double>(pause.count()) / 1000.0 / static_cast<double>(std::max<std::size_t>(qps, 1)));
  return fmt::format("{:.0f}", std::max(needed, 1.0));
}

Advice receive_queue(const Scene& scene) {
  const auto naks = rate(scene, "rdma_rnr_naks_sent_total");
  const auto packets = rate(scene, "rdma_packets_received_total");
  const auto qps = receiving_qps(scene);
  Advice advice;
  advice.figures = {{"rnr_naks_sent", rate_text(naks)},
                    {"packets_received", rate_text(packets)},
                    {"receiving_rc_qps", std::to_string(qps)}};
  const auto where = fmt::format("{}/{}", scene.device, scene.port);
  if (!naks || !packets) {
    advice.text = fmt::format(
        "Post more receives: {} is a responder that ran out of them. How many more cannot be said: {} of the last minute are not known.",
        where, naks ? "its packets" : "its RNR NAKs");
    return advice;
  }
  const auto share = *packets > 0 ? fmt::format(" ({:.3g} in a thousand)", 1000 * *naks / *packets) : std::string();
  advice.text = fmt::format("The responder {} sent {:.4g} RNR NAKs/s for {:.4g} packets/s received{}: messages came when no receive was posted.", where,
                            *naks, *packets, share);
  advice.text += fmt::format(
      " A receiver that may be away for {} needs at least {} receives posted on each of its {} RC QPs (for {}: {}), reposted as they complete,"
      " or a shared receive queue of all of them together; a longer min_rnr_timer only lets the peers wait.",
      short_time(kPauses[0]), receives_for(kPauses[0], *packets, qps), std::max<std::size_t>(qps, 1), short_time(kPauses[1]),
      receives_for(kPauses[1], *packets, qps));
  for (const auto pause : kPauses)
    advice.figures[fmt::format("receives_for_{}ms", pause.count())] = receives_for(pause, *packets, qps);
  return advice;
}

// Which of the causes of a late or missing acknowledgement the counters speak for; it decides whether the timeout matters at all.
std::string cause(std::optional<double> timeouts, std::optional<double> naks, std::optional<double> retransmissions) {
  if (!timeouts && !naks) return "What the retransmissions come from cannot be told: this driver counts neither timeouts nor sequence NAKs.";
  if (naks && *naks > 0 && (!timeouts || *naks >= *timeouts))
    return fmt::format("Sequence NAKs ({:.4g}/s) say that packets are lost or reordered on the way and the peer noticed at once: a longer timeout"
                       " does not help, look for discards, congestion and packet spraying.", *naks);
  if (timeouts && *timeouts > 0)
    return fmt::format("Timeouts ({:.4g}/s) without as many sequence NAKs ({}) say that answers come late or the last packet of a message is lost:"
                       " the timeout may be too short.", *timeouts, rate_text(naks));
  if (retransmissions && *retransmissions > 0)
    return fmt::format("{:.4g} retransmissions/s, but no sequence NAK came: answers are late or the last packets of messages are lost;"
                       " the timeout may be too short.", *retransmissions);
  return "Nothing was retransmitted in the last minute.";
}

// What the driver makes of the attributes, where it is not what was asked for.
std::string driver_note(const std::string& driver) {
  if (driver == "irdma" || driver == "erdma" || driver == "siw" || driver == "efa" || driver == "cxgb4" || driver == "iw_cxgb4")
    return fmt::format(" The driver {} ignores the timeout: the value is advisory there.", driver);
  if (driver == "rxe" || driver == "rdma_rxe") return " On rxe retry_cnt 7 means for ever; 6 is the most that ends.";
  if (driver.rfind("mlx5", 0) == 0) return " With adaptive retransmission (roce_adp_retrans) mlx5 retries sooner than the timeout says.";
  return {};
}

Advice timeout(const Scene& scene) {
  const auto timeouts = rate(scene, "rdma_ack_timeouts_total");
  const auto naks = rate(scene, "rdma_sequence_naks_received_total");
  const auto retransmissions = rate(scene, "rdma_retransmissions_total");
  const auto driver = port_info(scene.store, scene.device, scene.port, scene.now, "driver");
  const std::uint8_t retries = kMostRetries;
  const auto code = *ack_timeout_code_at_least(nanoseconds{kReconvergence} / (retries + 1));
  const auto budget = *retry_budget(code, retries);
  Advice advice;
  advice.figures = {{"ack_timeouts", rate_text(timeouts)},
                    {"sequence_naks_received", rate_text(naks)},
                    {"retransmissions", rate_text(retransmissions)},
                    {"timeout", ack_timeout_text(code)},
                    {"budget", fmt::format("{} to {}", short_time(budget.least), short_time(budget.most))}};
  advice.text = fmt::format("{} For {}/{}: retry_cnt 7 and timeout {} or more. One try lasts 4.096 us x 2^code, and up to four times that; {} tries"
                            " last {} to {}, which outlives the {} in which a host finds a peer's address again.{}"
                            " Both are set by the application at RTR to RTS (NCCL_IB_TIMEOUT, UCX_RC_TIMEOUT, perftest -u).",
                            cause(timeouts, naks, retransmissions), scene.device, scene.port, ack_timeout_text(code), retries + 1,
                            short_time(budget.least), short_time(budget.most), short_time(kReconvergence), driver_note(driver));
  return advice;
}

}  // namespace

const std::vector<TopicRow>& topics() {
  static const std::vector<TopicRow> rows{
      {"receive_queue", "how many receives a responder must keep posted, from its RNR NAKs and its packets", receive_queue},
      {"timeout", "which timeout and retry_cnt outlive a path that heals, and whether the timeout is the cause at all", timeout},
  };
  return rows;
}

const TopicRow* find_topic(std::string_view name) {
  const auto at = std::find_if(topics().begin(), topics().end(), [&](const TopicRow& row) { return row.name == name; });
  return at == topics().end() ? nullptr : &*at;
}

}  // namespace rdmend::advice
