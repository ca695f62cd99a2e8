// SPDX-License-Identifier: Apache-2.0
// Raising: whom, to what, and whether it helped.
#include "remedies/raise_action.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "advice/timers.hpp"
#include "base/text.hpp"
#include "remedies/receive_history.hpp"

namespace rdmend::remedies {
namespace {

// Long enough that a QP which receives has moved, waiting for a timer or not.
constexpr milliseconds kBetweenDumps = seconds{2};
// The evidence before the change: that of the time that the alert was active, within these bounds.
constexpr milliseconds kLeastBefore = seconds{10};
constexpr milliseconds kMostBefore = ReceiveHistory::kLongest;

std::string owner_text(const QpInfo& qp, std::uint32_t tgid) {
  const auto pid = tgid != 0 ? tgid : qp.pid;
  const auto comm = qp.comm.empty() ? std::string("unknown") : printable(qp.comm, 32);
  return pid != 0 ? fmt::format("{}, pid {}", comm, pid) : comm;
}

std::string key_of(const std::string& device, std::uint32_t qpn) {
  return fmt::format("qp {} {}", device, qpn);
}

}  // namespace

std::string change_text(std::uint8_t from, std::uint8_t to) {
  return fmt::format("{} -> {}", advice::rnr_code_text(from), advice::rnr_code_text(to));
}

void RaiseAction::check(std::function<void(std::string)> done) {
  if (device_.empty() || port_.empty())
    return done(fmt::format("the alert has no label '{}', so there is no port to act on",
                            device_.empty() ? "device" : "port"));
  if (observing_) return fresh_dumps(std::move(done));
  if (auto why = environment_.hand.unavailable(); !why.empty()) return done(std::move(why));
  environment_.hand.request(
      request(wire::HandRequest::Kind::probe), kHandDeadline,
      [this, token = alive(), done = std::move(done)](const Result<wire::HandReply>& reply) mutable {
        if (token.expired()) return;
        if (!reply) return done("the hand does not answer: " + reply.error().message);
        if (!reply->error.empty()) return done(reply->error);
        fresh_dumps(std::move(done));
      });
}

// Two dumps of now, a little apart: whether a QP receives must not be judged by what it did half a minute
// ago.
void RaiseAction::fresh_dumps(Refusal done) {
  const auto late = [this] {
    return fmt::format("no fresh list of the QPs of {} within {}", device_, format_duration(kDumpDeadline));
  };
  environment_.qps.refresh(
      device_, kDumpDeadline, [this, late, token = alive(), done = std::move(done)](bool fresh) mutable {
        if (token.expired()) return;
        if (!fresh) return done(late());
        pause_ = environment_.reactor.after(kBetweenDumps, [this, late, done = std::move(done)]() mutable {
          environment_.qps.refresh(
              device_, kDumpDeadline,
              [this, late, token = alive(), done = std::move(done)](bool second) mutable {
                if (token.expired()) return;
                if (!second) return done(late());
                choose(std::move(done));
              });
        });
      });
}

void RaiseAction::choose(Refusal done) {
  const auto& latest = environment_.qps.latest(device_);
  const auto receivers = moving_receivers(environment_.qps.previous(device_), latest, port_);
  figures_ = {{"rc_qps_of_the_port", std::to_string(receivers.candidates)},
              {"receiving", std::to_string(receivers.moving.size())}};
  if (latest.truncated) figures_["list"] = "cut at sampling.qp_cap";
  if (receivers.moving.empty())
    return done(fmt::format(
        "none of the {} RC QPs of processes in RTR or RTS on {} received anything between two dumps{}",
        receivers.candidates, where(),
        receivers.silent > 0 ? fmt::format(" ({} do not tell their rq_psn)", receivers.silent) : ""));
  if (observing_ && !environment_.hand.unavailable().empty()) {
    for (const auto& qp : receivers.moving)
      add_target(qp, 0,
                 fmt::format("x {:g}, at most {} (its timer cannot be read: {})", settings_.factor,
                             advice::short_time(settings_.ceiling), environment_.hand.unavailable()));
    return done({});
  }
  auto query = request(wire::HandRequest::Kind::query);
  for (const auto& qp : receivers.moving) query.qps.push_back(wire::hand_qp(qp));
  ask_hand(environment_.hand, std::move(query), kHandDeadline, alive(),
           [this, asked = receivers.moving, done = std::move(done)](const std::vector<HandAnswer>& answers) {
             take_answers(asked, answers, done);
           });
}

void RaiseAction::take_answers(const std::vector<QpInfo>& asked, const std::vector<HandAnswer>& answers,
                               const Refusal& done) {
  std::size_t at_ceiling = 0;
  std::size_t unreadable = 0;
  std::string error;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& answer = answers[i];
    if (!answer.before) {
      ++unreadable;
      if (error.empty()) error = answer.error;
      continue;
    }
    const auto code = raised_code(answer.before->min_rnr_timer, settings_);
    if (!code) {
      ++at_ceiling;
      continue;
    }
    Chosen chosen{asked[i], *answer.before, {}};
    auto& raised = chosen.raised;
    raised.qpn = asked[i].qpn;
    raised.pid = asked[i].pid;
    raised.remote_qpn = asked[i].remote_qpn.value_or(0);
    raised.before = answer.before->min_rnr_timer;
    raised.after = *code;
    raised.global = answer.before->global;
    std::copy(std::begin(answer.before->remote_gid), std::end(answer.before->remote_gid),
              raised.remote_gid.begin());
    add_target(asked[i], answer.tgid, change_text(raised.before, raised.after));
    raised.text = targets_.back().text;
    chosen_.push_back(std::move(chosen));
  }
  figures_["at_the_ceiling"] = std::to_string(at_ceiling);
  if (unreadable > 0) figures_["unreadable"] = fmt::format("{} ({})", unreadable, error);
  if (!chosen_.empty()) return done({});
  const auto ceiling = fmt::format("{} of the {} receiving QPs on {} wait {} or longer already", at_ceiling,
                                   asked.size(), where(), advice::short_time(settings_.ceiling));
  if (unreadable == 0) return done(ceiling + ", the ceiling");
  done(fmt::format("the timers of {} receiving QPs on {} could not be read: {}{}", unreadable, where(), error,
                   at_ceiling > 0 ? "; " + ceiling : ""));
}

void RaiseAction::add_target(const QpInfo& qp, std::uint32_t tgid, std::string intent) {
  const auto pid = tgid != 0 ? tgid : qp.pid;
  targets_.push_back({key_of(device_, qp.qpn), pid != 0 ? fmt::format("process {}", pid) : "",
                      fmt::format("{} qpn {} ({})", where(), qp.qpn, owner_text(qp, tgid)), std::move(intent),
                      true});
}

wire::HandRequest RaiseAction::request(wire::HandRequest::Kind kind) const {
  wire::HandRequest out;
  out.kind = kind;
  out.device = device_;
  if (const auto& qps = environment_.qps.latest(device_).qps; !qps.empty())
    out.device_index = qps.front().device_index;
  return out;
}

std::string RaiseAction::undo_record() const {
  if (!record_.qps.empty()) return encode(record_);
  if (chosen_.empty()) return {};
  RaiseRecord planned{device_, port_, {}};
  for (const auto& chosen : chosen_) planned.qps.push_back(chosen.raised);
  return encode(planned);
}

void RaiseAction::run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) {
  const auto is_granted = [&](const Chosen& chosen) {
    const auto key = key_of(device_, chosen.raised.qpn);
    return std::any_of(granted.begin(), granted.end(),
                       [&](const Target& target) { return target.key == key; });
  };
  std::erase_if(chosen_, [&](const Chosen& chosen) { return !is_granted(chosen); });
  const auto now = environment_.reactor.now().wall;
  before_window_ = {std::max(now - kMostBefore, std::min(active_at_, now - kLeastBefore)), now};
  record_ = {device_, port_, {}};
  auto modify = request(wire::HandRequest::Kind::modify_min_rnr_timer);
  for (const auto& chosen : chosen_) {
    auto qp = wire::hand_qp(chosen.info);
    qp.expected = chosen.attributes;
    qp.new_min_rnr_timer = chosen.raised.after;
    modify.qps.push_back(qp);
    record_.qps.push_back(chosen.raised);
  }
  ask_hand(environment_.hand, std::move(modify), kHandDeadline, alive(),
           [this, done = std::move(done)](const std::vector<HandAnswer>& answers) {
             take_changes(answers, done);
           });
}

// A QP stays on record unless it is certain that it was not changed: after a hand that died, only the undo
// can tell.
void RaiseAction::take_changes(const std::vector<HandAnswer>& answers,
                               const std::function<void(std::vector<Report>)>& done) {
  std::vector<Report> reports;
  std::vector<RaisedQp> kept;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& answer = answers[i];
    const auto& raised = record_.qps[i];
    Report report{Verdict::failed, raised.text, {}, figures_};
    report.figures["before"] = advice::rnr_code_text(raised.before);
    report.figures["after"] = answer.after ? advice::rnr_code_text(answer.after->min_rnr_timer) : "unknown";
    const bool changed = answer.error.empty() && answer.after && answer.after->min_rnr_timer == raised.after;
    if (changed) {
      report.verdict = Verdict::started;
      report.reason = "min_rnr_timer " + change_text(raised.before, raised.after);
    } else {
      report.reason = answer.error.empty() ? "the QP does not show the new timer" : answer.error;
    }
    const bool certainly_not =
        !answer.whole_request_failed && answer.after && answer.after->min_rnr_timer != raised.after;
    const bool refused_before =
        !answer.whole_request_failed && !answer.error.empty() && !answer.after && !answer.before;
    if (changed || !(certainly_not || refused_before)) kept.push_back(raised);
    reports.push_back(std::move(report));
  }
  record_.qps = std::move(kept);
  before_ = flow(before_window_);
  changed_at_ = environment_.reactor.now().wall;
  environment_.qps.refresh(device_, kDumpDeadline, [](bool) {});  // where the stretch after the change begins
  done(std::move(reports));
}

Flow RaiseAction::flow(advice::Window window) const {
  const auto& store = environment_.store;
  Flow out;
  out.naks = advice::per_second(store, "rdma_rnr_naks_sent_total", device_, port_, window);
  out.packets = advice::per_second(store, "rdma_packets_received_total", device_, port_, window);
  out.accepted =
      environment_.qps.history(device_).accepted_per_second(record_.qps, window.from, window.to, out.packets);
  return out;
}

void RaiseAction::verify(std::function<void(Report)> done) {
  environment_.qps.refresh(
      device_, kDumpDeadline, [this, token = alive(), done = std::move(done)](bool fresh) mutable {
        if (token.expired()) return;
        if (!fresh || !before_.accepted || flow_since_change().accepted) return conclude(done);
        // On a fast port a PSN may have gone round since the change: two dumps that lie closer together tell.
        pause_ = environment_.reactor.after(kBetweenDumps, [this, done = std::move(done)]() mutable {
          environment_.qps.refresh(device_, kDumpDeadline,
                                   [this, again = alive(), done = std::move(done)](bool) {
                                     if (!again.expired()) conclude(done);
                                   });
        });
      });
}

void RaiseAction::conclude(const std::function<void(Report)>& done) {
  auto judgement = judge(before_, flow_since_change());
  judgement.figures["qps"] = std::to_string(record_.qps.size());
  done({judgement.better ? Verdict::succeeded : Verdict::ineffective, where(), std::move(judgement.reason),
        std::move(judgement.figures)});
}

}  // namespace rdmend::remedies
