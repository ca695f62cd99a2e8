// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inside of raise_min_rnr_timer; included by raise_min_rnr_timer.cpp, raise_action.cpp and raise_undo.cpp
// alone.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "advice/evidence.hpp"
#include "remedies/hand_batch.hpp"
#include "remedies/remedy.hpp"
#include "remedies/rnr_timer.hpp"

namespace rdmend::remedies {

inline constexpr milliseconds kDumpDeadline = seconds{10};
inline constexpr milliseconds kHandDeadline = seconds{10};

// "code 1 (0.01 ms) -> code 4 (0.04 ms)"
std::string change_text(std::uint8_t from, std::uint8_t to);

// One QP that may be raised: as netlink shows it, as the hand read it, and what it would get.
struct Chosen {
  QpInfo info;
  wire::QpAttributes attributes;
  RaisedQp raised;
};

class RaiseAction : public Action {
 public:
  RaiseAction(const TimerSettings& settings, const Alert& alert, Environment& environment)
      : settings_(settings),
        device_(alert.labels.get("device")),
        port_(alert.labels.get("port")),
        active_at_(alert.active_at),
        environment_(environment),
        observing_(environment.observing) {}
  RaiseAction(const TimerSettings& settings, RaiseRecord record, Environment& environment)
      : settings_(settings),
        device_(record.device),
        port_(record.port),
        environment_(environment),
        record_(std::move(record)) {}

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
  void take_answers(const std::vector<QpInfo>& asked, const std::vector<HandAnswer>& answers,
                    const Refusal& done);
  void add_target(const QpInfo& qp, std::uint32_t tgid, std::string intent);
  [[nodiscard]] wire::HandRequest request(wire::HandRequest::Kind kind) const;
  void take_changes(const std::vector<HandAnswer>& answers,
                    const std::function<void(std::vector<Report>)>& done);
  [[nodiscard]] Flow flow(advice::Window window) const;
  [[nodiscard]] Flow flow_since_change() const {
    return flow({changed_at_, environment_.reactor.now().wall});
  }
  void conclude(const std::function<void(Report)>& done);
  void restore_present(const std::shared_ptr<Restored>& so_far, std::function<void(Report)> done);
  void give_back(const std::shared_ptr<Restored>& so_far, std::vector<RaisedQp> ours,
                 wire::HandRequest request, std::function<void(Report)> done);
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
  advice::Window before_window_;
  Flow before_;
  Timestamp changed_at_{};
  Reactor::Handle pause_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace rdmend::remedies
