// SPDX-License-Identifier: Apache-2.0
// Giving back: only what is still there and still ours.
#include <fmt/format.h>

#include <algorithm>

#include "remedies/raise_action.hpp"

namespace rdmend::remedies {

void RaiseAction::undo(std::function<void(Report)> done) {
  environment_.qps.refresh(device_, kDumpDeadline,
                           [this, token = alive(), done = std::move(done)](bool fresh) mutable {
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
    query.qps.push_back(wire::hand_qp(*at->second));
  }
  if (ours.empty()) return done(restored_report(*so_far));
  if (auto why = environment_.hand.unavailable(); !why.empty()) {
    so_far->failed = std::move(ours);
    so_far->error = std::move(why);
    return done(restored_report(*so_far));
  }
  auto modify = query;
  modify.kind = wire::HandRequest::Kind::modify_min_rnr_timer;
  ask_hand(
      environment_.hand, std::move(query), kHandDeadline, alive(),
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
          const bool same = std::equal(ours[i].remote_gid.begin(), ours[i].remote_gid.end(),
                                       std::begin(attributes->remote_gid));
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

void RaiseAction::give_back(const std::shared_ptr<Restored>& so_far, std::vector<RaisedQp> ours,
                            wire::HandRequest change, std::function<void(Report)> done) {
  if (ours.empty()) return done(restored_report(*so_far));
  ask_hand(
      environment_.hand, std::move(change), kHandDeadline, alive(),
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
  for (const auto& [change, count] : restored.back)
    parts.push_back(fmt::format("min_rnr_timer of {} given back, {}",
                                count == 1 ? "1 QP" : fmt::format("{} QPs", count), change));
  if (restored.gone > 0) parts.push_back(fmt::format("{} had gone", restored.gone));
  if (restored.not_ours > 0)
    parts.push_back(fmt::format("{} had been changed by others and stay as they are", restored.not_ours));
  if (!restored.failed.empty())
    parts.push_back(fmt::format("{} could not be given back: {}", restored.failed.size(), restored.error));
  if (parts.empty()) parts.emplace_back("nothing was changed, so nothing was given back");
  record_.qps = restored.failed;
  chosen_.clear();
  return {restored.failed.empty() ? Verdict::undone : Verdict::undo_failed,
          where(),
          fmt::format("{}", fmt::join(parts, "; ")),
          {}};
}

}  // namespace rdmend::remedies
