// SPDX-License-Identifier: Apache-2.0
#include "remedies/raise_min_rnr_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "advice/evidence.hpp"
#include "advice/timers.hpp"
#include "base/text.hpp"
#include "remedies/hand_batch.hpp"
#include "remedies/params.hpp"
#include "remedies/rnr_timer.hpp"

namespace rdmend::remedies {
namespace {

constexpr milliseconds kDumpDeadline = seconds{10};
constexpr milliseconds kBetweenDumps = seconds{2};  // long enough that a QP which receives has moved, waiting for a timer or not
constexpr milliseconds kHandDeadline = seconds{10};
constexpr milliseconds kLeastBefore = seconds{10};  // the evidence before the change: this long at least,
constexpr milliseconds kMostBefore = seconds{60};   // and as long as the alert was active, up to this

std::string owner_text(const QpInfo& qp, std::uint32_t tgid) {
  const auto pid = tgid != 0 ? tgid : qp.pid;
  const auto comm = qp.comm.empty() ? std::string("unknown") : printable(qp.comm, 32);
  return pid != 0 ? fmt::format("{}, pid {}", comm, pid) : comm;
}

std::string key_of(const std::string& device, std::uint32_t qpn) { return fmt::format("qp {} {}", device, qpn); }

wire::HandQp hand_qp(const QpInfo& qp) {
  wire::HandQp out;
  out.qpn = qp.qpn;
  out.pid = qp.pid;
  out.remote_qpn = qp.remote_qpn.value_or(0);
  out.state = qp.state;
  out.rq_psn = qp.rq_psn.value_or(0);
  out.sq_psn = qp.sq_psn.value_or(0);
  return out;
}

std::string change_text(std::uint8_t from, std::uint8_t to) {
  return fmt::format("{} -> {}", advice::rnr_code_text(from), advice::rnr_code_text(to));
}

// One QP that may be raised: as netlink shows it, as the hand read it, and what it would get.
struct Chosen {
  QpInfo info;
  wire::QpAttributes attributes;
  RaisedQp raised;
};

class RaiseAction : public Action {
 public:
  RaiseAction(const TimerSettings& settings, const Alert& alert, Environment& environment)
      : settings_(settings), device_(alert.labels.get("device")), port_(alert.labels.get("port")), active_at_(alert.active_at),
        environment_(environment), observing_(environment.observing) {}
  RaiseAction(const TimerSettings& settings, RaiseRecord record, Environment& environment)
      : settings_(settings), device_(record.device), port_(record.port), environment_(environment), record_(std::move(record)) {}

  void check(std::function<void(std::string)> done) override;
  [[nodiscard]] std::vector<Target> targets() const override { return targets_; }
  [[nodiscard]] std::string undo_record() const override;
  void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) override;
  void verify(std::function<void(Report)> done) override;
  void undo(std::function<void(Report)> done) override;
  [[nodiscard]] bool undoable() const override { return !record_.qps.empty(); }

 private:
  using Refusal = std::function<void(std::string)>;
  // What one undo found, to be told in one sentence.
  struct Restored {
    std::size_t gone = 0, not_ours = 0;
    std::map<std::string, std::size_t> back;  // by change
    std::vector<RaisedQp> failed;
    std::string error;
  };

  void fresh_dumps(Refusal done);
  void choose(Refusal done);
  void take_answers(const std::vector<QpInfo>& asked, const std::vector<HandAnswer>& answers, const Refusal& done);
  void add_target(const QpInfo& qp, std::uint32_t tgid, std::string intent);
  [[nodiscard]] wire::HandRequest request(wire::HandRequest::Kind kind) const;
  void take_changes(const std::vector<HandAnswer>& answers, const std::function<void(std::vector<Report>)>& done);
  [[nodiscard]] Flow flow(advice::Window window) const;
  void restore_present(const std::shared_ptr<Restored>& so_far, std::function<void(Report)> done);
  void give_back(const std::shared_ptr<Restored>& so_far, std::vector<RaisedQp> ours, wire::HandRequest request, std::function<void(Report)> done);
  Report restored_report(const Restored& restored);
  [[nodiscard]] std::string where() const { return device_ + "/" + port_; }
  [[nodiscard]] std::weak_ptr<bool> alive() const { return alive_; }

  TimerSettings settings_;
  std::string device_, port_;
  Timestamp active_at_{};
  Environment& environment_;
  bool observing_ = false;
  std::vector<Chosen> chosen_;
  std::vector<Target> targets_;
  std::map<std::string, std::string> figures_;  // how the QPs were chosen
  RaiseRecord record_;                          // QPs that are, or may be, changed
  Flow before_;
  Timestamp changed_at_{};
  QpDump dump_after_;  // the first one after the change
  Reactor::Handle pause_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void RaiseAction::check(std::function<void(std::string)> done) {
  if (device_.empty() || port_.empty())
    return done(fmt::format("the alert has no label '{}', so there is no port to act on", device_.empty() ? "device" : "port"));
  if (observing_) return fresh_dumps(std::move(done));
  if (auto why = environment_.hand.unavailable(); !why.empty()) return done(std::move(why));
  environment_.hand.request(request(wire::HandRequest::Kind::probe), kHandDeadline,
                            [this, token = alive(), done = std::move(done)](const Result<wire::HandReply>& reply) mutable {
                              if (token.expired()) return;
                              if (!reply) return done("the hand does not answer: " + reply.error().message);
                              if (!reply->error.empty()) return done(reply->error);
                              fresh_dumps(std::move(done));
                            });
}

// Two dumps of now, a little apart: whether a QP receives must not be judged by what it did half a minute ago.
void RaiseAction::fresh_dumps(Refusal done) {
  const auto late = [this] { return fmt::format("no fresh list of the QPs of {} within {}", device_, format_duration(kDumpDeadline)); };
  environment_.qps.refresh(device_, kDumpDeadline, [this, late, token = alive(), done = std::move(done)](bool fresh) mutable {
    if (token.expired()) return;
    if (!fresh) return done(late());
    pause_ = environment_.reactor.after(kBetweenDumps, [this, late, done = std::move(done)]() mutable {
      environment_.qps.refresh(device_, kDumpDeadline, [this, late, token = alive(), done = std::move(done)](bool second) mutable {
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
  figures_ = {{"rc_qps_of_the_port", std::to_string(receivers.candidates)}, {"receiving", std::to_string(receivers.moving.size())}};
  if (latest.truncated) figures_["list"] = "cut at sampling.qp_cap";
  if (receivers.moving.empty())
    return done(fmt::format("none of the {} RC QPs of processes in RTR or RTS on {} received anything between two dumps{}", receivers.candidates,
                            where(), receivers.silent > 0 ? fmt::format(" ({} do not tell their rq_psn)", receivers.silent) : ""));
  if (observing_ && !environment_.hand.unavailable().empty()) {
    for (const auto& qp : receivers.moving)
      add_target(qp, 0, fmt::format("x {:g}, at most {} (its timer cannot be read: {})", settings_.factor,
                                    advice::short_time(settings_.ceiling), environment_.hand.unavailable()));
    return done({});
  }
  auto query = request(wire::HandRequest::Kind::query);
  for (const auto& qp : receivers.moving) query.qps.push_back(hand_qp(qp));
  ask_hand(environment_.hand, std::move(query), kHandDeadline, alive(),
           [this, asked = receivers.moving, done = std::move(done)](const std::vector<HandAnswer>& answers) { take_answers(asked, answers, done); });
}

void RaiseAction::take_answers(const std::vector<QpInfo>& asked, const std::vector<HandAnswer>& answers, const Refusal& done) {
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
    std::copy(std::begin(answer.before->remote_gid), std::end(answer.before->remote_gid), raised.remote_gid.begin());
    add_target(asked[i], answer.tgid, change_text(raised.before, raised.after));
    raised.text = targets_.back().text;
    chosen_.push_back(std::move(chosen));
  }
  figures_["at_the_ceiling"] = std::to_string(at_ceiling);
  if (unreadable > 0) figures_["unreadable"] = fmt::format("{} ({})", unreadable, error);
  if (!chosen_.empty()) return done({});
  const auto ceiling = fmt::format("{} of the {} receiving QPs on {} wait {} or longer already", at_ceiling, asked.size(), where(),
                                   advice::short_time(settings_.ceiling));
  if (unreadable == 0) return done(ceiling + ", the ceiling");
  done(fmt::format("the timers of {} receiving QPs on {} could not be read: {}{}", unreadable, where(), error, at_ceiling > 0 ? "; " + ceiling : ""));
}

void RaiseAction::add_target(const QpInfo& qp, std::uint32_t tgid, std::string intent) {
  const auto pid = tgid != 0 ? tgid : qp.pid;
  targets_.push_back({key_of(device_, qp.qpn), pid != 0 ? fmt::format("process {}", pid) : "",
                      fmt::format("{} qpn {} ({})", where(), qp.qpn, owner_text(qp, tgid)), std::move(intent), true});
}

wire::HandRequest RaiseAction::request(wire::HandRequest::Kind kind) const {
  wire::HandRequest out;
  out.kind = kind;
  out.device = device_;
  if (const auto& qps = environment_.qps.latest(device_).qps; !qps.empty()) out.device_index = qps.front().device_index;
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
    return std::any_of(granted.begin(), granted.end(), [&](const Target& target) { return target.key == key; });
  };
  std::erase_if(chosen_, [&](const Chosen& chosen) { return !is_granted(chosen); });
  const auto now = environment_.reactor.now().wall;
  before_ = flow({std::max(now - kMostBefore, std::min(active_at_, now - kLeastBefore)), now});
  record_ = {device_, port_, {}};
  auto modify = request(wire::HandRequest::Kind::modify_min_rnr_timer);
  for (const auto& chosen : chosen_) {
    auto qp = hand_qp(chosen.info);
    qp.expected = chosen.attributes;
    qp.new_min_rnr_timer = chosen.raised.after;
    modify.qps.push_back(qp);
    record_.qps.push_back(chosen.raised);
  }
  before_.accepted = accepted_per_second(record_.qps, environment_.qps.previous(device_), environment_.qps.latest(device_), before_.packets);
  ask_hand(environment_.hand, std::move(modify), kHandDeadline, alive(),
           [this, done = std::move(done)](const std::vector<HandAnswer>& answers) { take_changes(answers, done); });
}

// A QP stays on record unless it is certain that it was not changed: after a hand that died, only the undo can tell.
void RaiseAction::take_changes(const std::vector<HandAnswer>& answers, const std::function<void(std::vector<Report>)>& done) {
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
    const bool certainly_not = !answer.whole_request_failed && answer.after && answer.after->min_rnr_timer != raised.after;
    const bool refused_before = !answer.whole_request_failed && !answer.error.empty() && !answer.after && !answer.before;
    if (changed || !(certainly_not || refused_before)) kept.push_back(raised);
    reports.push_back(std::move(report));
  }
  record_.qps = std::move(kept);
  changed_at_ = environment_.reactor.now().wall;
  environment_.qps.refresh(device_, kDumpDeadline, [this, token = alive()](bool fresh) {
    if (!token.expired() && fresh) dump_after_ = environment_.qps.latest(device_);
  });
  done(std::move(reports));
}

Flow RaiseAction::flow(advice::Window window) const {
  const auto& store = environment_.store;
  return {advice::per_second(store, "rdma_rnr_naks_sent_total", device_, port_, window),
          advice::per_second(store, "rdma_packets_received_total", device_, port_, window), std::nullopt};
}

void RaiseAction::verify(std::function<void(Report)> done) {
  environment_.qps.refresh(device_, kDumpDeadline, [this, token = alive(), done = std::move(done)](bool fresh) {
    if (token.expired()) return;
    auto after = flow({changed_at_, environment_.reactor.now().wall});
    if (fresh && !dump_after_.device.empty())
      after.accepted = accepted_per_second(record_.qps, dump_after_, environment_.qps.latest(device_), after.packets);
    auto judgement = judge(before_, after);
    judgement.figures["qps"] = std::to_string(record_.qps.size());
    done({judgement.better ? Verdict::succeeded : Verdict::ineffective, where(), std::move(judgement.reason), std::move(judgement.figures)});
  });
}

void RaiseAction::undo(std::function<void(Report)> done) {
  environment_.qps.refresh(device_, kDumpDeadline, [this, token = alive(), done = std::move(done)](bool fresh) mutable {
    if (token.expired()) return;
    auto so_far = std::make_shared<Restored>();
    const auto known = environment_.qps.devices();
    if (!fresh && std::find(known.begin(), known.end(), device_) != known.end()) {
      so_far->failed = record_.qps;
      so_far->error = "no fresh list of the device's QPs";
      return done(restored_report(*so_far));
    }
    if (!fresh) {  // the device has gone, and its QPs with it
      so_far->gone = record_.qps.size();
      return done(restored_report(*so_far));
    }
    restore_present(so_far, std::move(done));
  });
}

// Asks for the timers of those that are still there; what is no longer ours is left alone.
void RaiseAction::restore_present(const std::shared_ptr<Restored>& so_far, std::function<void(Report)> done) {
  std::map<std::uint32_t, const QpInfo*> present;
  for (const auto& qp : environment_.qps.latest(device_).qps) present[qp.qpn] = &qp;
  std::vector<RaisedQp> ours;
  auto query = request(wire::HandRequest::Kind::query);
  for (const auto& raised : record_.qps) {
    const auto at = present.find(raised.qpn);
    const bool there = at != present.end() && same_qp(*at->second, raised.qpn, raised.pid, raised.remote_qpn);
    const auto state = there ? static_cast<QpState>(at->second->state) : QpState::err;
    if (!there || state == QpState::err || state == QpState::reset || state == QpState::init) {
      ++so_far->gone;  // a QP on its way out waits for nobody
      continue;
    }
    ours.push_back(raised);
    query.qps.push_back(hand_qp(*at->second));
  }
  if (ours.empty()) return done(restored_report(*so_far));
  if (auto why = environment_.hand.unavailable(); !why.empty()) {
    so_far->failed = std::move(ours);
    so_far->error = std::move(why);
    return done(restored_report(*so_far));
  }
  auto modify = query;
  modify.kind = wire::HandRequest::Kind::modify_min_rnr_timer;
  ask_hand(environment_.hand, std::move(query), kHandDeadline, alive(),
           [this, so_far, ours, modify, done = std::move(done)](const std::vector<HandAnswer>& answers) mutable {
             std::vector<RaisedQp> still_ours;
             auto change = modify;
             change.qps.clear();
             for (std::size_t i = 0; i < answers.size(); ++i) {
               const auto& attributes = answers[i].before;
               if (!attributes) {
                 so_far->failed.push_back(ours[i]);
                 so_far->error = answers[i].error;
                 continue;
               }
               const bool same = std::equal(ours[i].remote_gid.begin(), ours[i].remote_gid.end(), std::begin(attributes->remote_gid));
               if (attributes->min_rnr_timer != ours[i].after || (ours[i].global && !same)) {
                 ++so_far->not_ours;
                 continue;
               }
               auto qp = modify.qps[i];
               qp.expected = *attributes;
               qp.new_min_rnr_timer = ours[i].before;
               change.qps.push_back(qp);
               still_ours.push_back(ours[i]);
             }
             give_back(so_far, std::move(still_ours), std::move(change), std::move(done));
           });
}

void RaiseAction::give_back(const std::shared_ptr<Restored>& so_far, std::vector<RaisedQp> ours, wire::HandRequest change,
                            std::function<void(Report)> done) {
  if (ours.empty()) return done(restored_report(*so_far));
  ask_hand(environment_.hand, std::move(change), kHandDeadline, alive(),
           [this, so_far, ours = std::move(ours), done = std::move(done)](const std::vector<HandAnswer>& answers) {
             for (std::size_t i = 0; i < answers.size(); ++i) {
               const auto& answer = answers[i];
               if (answer.after && answer.after->min_rnr_timer == ours[i].before) {
                 ++so_far->back[change_text(ours[i].after, ours[i].before)];
                 continue;
               }
               so_far->failed.push_back(ours[i]);
               so_far->error = answer.error.empty() ? "the QP does not show its old timer" : answer.error;
             }
             done(restored_report(*so_far));
           });
}

Report RaiseAction::restored_report(const Restored& restored) {
  std::vector<std::string> parts;
  for (const auto& [change, count] : restored.back) parts.push_back(fmt::format("min_rnr_timer of {} given back, {}", count == 1 ? "1 QP" : fmt::format("{} QPs", count), change));
  if (restored.gone > 0) parts.push_back(fmt::format("{} had gone", restored.gone));
  if (restored.not_ours > 0) parts.push_back(fmt::format("{} had been changed by others and stay as they are", restored.not_ours));
  if (!restored.failed.empty()) parts.push_back(fmt::format("{} could not be given back: {}", restored.failed.size(), restored.error));
  if (parts.empty()) parts.emplace_back("nothing was changed, so nothing was given back");
  record_.qps = restored.failed;
  chosen_.clear();
  return {restored.failed.empty() ? Verdict::undone : Verdict::undo_failed, where(), fmt::format("{}", fmt::join(parts, "; ")), {}};
}

class RaiseMinRnrTimer : public Remedy {
 public:
  explicit RaiseMinRnrTimer(TimerSettings settings) : settings_(settings) {}
  [[nodiscard]] std::string_view kind() const override { return "raise_min_rnr_timer"; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("raise_min_rnr_timer factor {:g}, ceiling {}", settings_.factor, advice::short_time(settings_.ceiling));
  }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const override {
    return std::make_unique<RaiseAction>(settings_, alert, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string& undo_record, Environment& environment) const override {
    auto record = decode_raise_record(undo_record);
    if (!record) return nullptr;
    return std::make_unique<RaiseAction>(settings_, std::move(*record), environment);
  }

 private:
  TimerSettings settings_;
};

void read_factor(const RemedySpec& spec, TimerSettings& settings, Diagnostics& diagnostics) {
  constexpr double kMostFactor = 65'536;  // from the shortest timer to the longest
  const auto* param = find_param(spec, "factor");
  const auto* text = scalar(spec, param, diagnostics);
  if (text == nullptr) return;
  double value = 0;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), value, std::chars_format::fixed);
  if (error != std::errc{} || rest != text->data() + text->size() || !(value > 1) || value > kMostFactor)
    return value_error(spec, *param, fmt::format("factor is '{}': not a number above 1, at most 65536", printable(*text)), "for instance 4", diagnostics);
  settings.factor = value;
}

void read_ceiling(const RemedySpec& spec, TimerSettings& settings, Diagnostics& diagnostics) {
  const auto* param = find_param(spec, "ceiling");
  const auto* text = scalar(spec, param, diagnostics);
  if (text == nullptr) return;
  const auto length = advice::parse_fine_duration(*text);
  if (!length || !advice::rnr_code_at_most(*length) || *length > advice::rnr_timer(0))
    return value_error(spec, *param, fmt::format("ceiling is '{}': not a duration from 10us to 655.36ms", printable(*text)),
                       "for instance 640us or 10ms", diagnostics);
  settings.ceiling = *length;
}

}  // namespace

std::unique_ptr<Remedy> compile_raise_min_rnr_timer(const RemedySpec& spec, Diagnostics& diagnostics) {
  TimerSettings settings;
  read_factor(spec, settings, diagnostics);
  read_ceiling(spec, settings, diagnostics);
  return std::make_unique<RaiseMinRnrTimer>(settings);
}

}  // namespace rdmend::remedies
