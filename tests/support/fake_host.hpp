// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "advice/timers.hpp"
#include "remedies/receive_history.hpp"
#include "remedies/remedy.hpp"
#include "support/virtual_reactor.hpp"

namespace rdmend::test {

// A host of one device with QPs that live, receive, are destroyed and have a min_rnr_timer: what netlink would list of them
// (QpTable) and what the external hand could read and change (Hand), each answer later, on the loop.
class FakeHost : public remedies::Hand, public remedies::QpTable {
 public:
  struct Qp {
    QpInfo info;
    std::uint8_t timer = 1;
    std::uint32_t tgid = 0;
    bool receives = true;
  };

  explicit FakeHost(VirtualReactor& loop) : loop_(loop) {}

  Qp& add(std::uint32_t qpn, std::uint8_t timer, std::uint32_t pid = 812) {
    Qp qp;
    qp.info.device = "rxe2";
    qp.info.device_index = 1;
    qp.info.port = 1;
    qp.info.qpn = qpn;
    qp.info.type = static_cast<std::uint8_t>(QpType::rc);
    qp.info.state = static_cast<std::uint8_t>(QpState::rts);
    qp.info.remote_qpn = 1000 + qpn;
    qp.info.rq_psn = 0xffff00;  // wraps soon, as PSNs do
    qp.info.sq_psn = 1;
    qp.info.pid = pid;
    qp.info.comm = "ib_send_bw";
    qp.timer = timer;
    qp.tgid = pid;
    return qps[qpn] = qp;
  }
  // One second of traffic: every receiving QP takes `packets` in.
  void receive(std::uint32_t packets) {
    for (auto& [qpn, qp] : qps)
      if (qp.receives && qp.info.rq_psn) qp.info.rq_psn = (*qp.info.rq_psn + packets) & 0xffffff;
  }

  // --- QpTable ---
  [[nodiscard]] const QpDump& latest(const std::string& device) const override { return device == "rxe2" ? latest_ : none_; }
  [[nodiscard]] const QpDump& previous(const std::string& device) const override { return device == "rxe2" ? previous_ : none_; }
  [[nodiscard]] const remedies::ReceiveHistory& history(const std::string& device) const override {
    return device == "rxe2" ? history_ : no_history_;
  }
  [[nodiscard]] std::vector<std::string> devices() const override { return device_gone ? std::vector<std::string>{} : std::vector<std::string>{"rxe2"}; }
  void refresh(const std::string& device, milliseconds, std::function<void(bool)> done) override {
    loop_.post([this, device, done = std::move(done)] {
      const bool works = device == "rxe2" && !device_gone && !dumps_fail;
      if (works) dump();
      done(works);
    });
  }
  void dump() {
    previous_ = std::exchange(latest_, {"rxe2", loop_.now().wall, {}, false});
    for (const auto& [qpn, qp] : qps) latest_.qps.push_back(qp.info);
    history_.take(latest_);
    ++dumps;
  }

  // --- Hand ---
  void request(wire::HandRequest request, milliseconds, std::function<void(Result<wire::HandReply>)> done) override {
    requests.push_back(request);
    if (wire::about_neighbours(request.kind)) return loop_.post([this, request = std::move(request), done = std::move(done)] { done(about_neighbours(request)); });
    loop_.post([this, request = std::move(request), done = std::move(done)] { done(answer(request)); });
  }
  [[nodiscard]] std::string unavailable() const override { return why_unavailable; }

  std::map<std::uint32_t, Qp> qps;
  std::vector<wire::HandRequest> requests;
  std::string why_unavailable;
  std::string probe_error;
  std::map<std::uint32_t, std::string> refuses;  // QPs whose modify fails, and why
  bool dies_after_modify = false;                // the change is made, the answer is lost
  bool dumps_fail = false;
  int dumps = 0;
  bool device_gone = false;
  std::string neighbour_error;
  bool dies_over_neighbours = false;

 private:
  Result<wire::HandReply> about_neighbours(const wire::HandRequest& request) const {
    wire::HandReply reply;
    reply.error = probe_error;
    for ([[maybe_unused]] const auto& one : request.neighbours) reply.neighbours.push_back({static_cast<std::uint16_t>(NeighbourState::failed), neighbour_error});
    if (dies_over_neighbours && request.kind == wire::HandRequest::Kind::refresh_neighbours) return Error{"the hand ended"};
    return reply;
  }
  Result<wire::HandReply> answer(const wire::HandRequest& request) {
    wire::HandReply reply;
    reply.error = request.kind == wire::HandRequest::Kind::probe ? probe_error : "";
    for (const auto& asked : request.qps) reply.qps.push_back(answer(request.kind, asked));
    if (dies_after_modify && request.kind == wire::HandRequest::Kind::modify_min_rnr_timer) return Error{"the hand ended"};
    return reply;
  }
  wire::HandQpReply answer(wire::HandRequest::Kind kind, const wire::HandQp& asked) {
    wire::HandQpReply reply;
    reply.qpn = asked.qpn;
    const auto at = qps.find(asked.qpn);
    if (at == qps.end() || at->second.info.remote_qpn != asked.remote_qpn) {
      reply.error = "the QP has gone";
      return reply;
    }
    auto& qp = at->second;
    reply.tgid = qp.tgid;
    reply.before = attributes(qp);
    if (kind != wire::HandRequest::Kind::modify_min_rnr_timer) return reply;
    if (const auto refused = refuses.find(asked.qpn); refused != refuses.end()) {
      reply.error = refused->second;
      reply.before.reset();
      return reply;
    }
    if (asked.expected && asked.expected->min_rnr_timer != qp.timer) {
      reply.error = "its timer is not what it was";
      return reply;
    }
    qp.timer = asked.new_min_rnr_timer;
    reply.after = attributes(qp);
    return reply;
  }
  static wire::QpAttributes attributes(const Qp& qp) {
    wire::QpAttributes out;
    out.state = qp.info.state;
    out.port = static_cast<std::uint8_t>(qp.info.port);
    out.min_rnr_timer = qp.timer;
    out.dest_qpn = qp.info.remote_qpn.value_or(0);
    out.rq_psn = qp.info.rq_psn.value_or(0);
    out.global = true;
    out.remote_gid[15] = static_cast<std::uint8_t>(qp.info.qpn);
    return out;
  }

  VirtualReactor& loop_;
  QpDump latest_, previous_, none_;
  remedies::ReceiveHistory history_, no_history_;
};

// Processes that end as the test wants, later.
class FakeProcesses : public remedies::Processes {
 public:
  struct Started {
    std::vector<std::string> argv, environment;
    std::string standard_input;
    milliseconds deadline;
  };
  explicit FakeProcesses(VirtualReactor& loop) : loop_(loop) {}
  void run(std::vector<std::string> argv, std::vector<std::string> environment, std::string standard_input, milliseconds deadline,
           std::function<void(Exit)> done) override {
    started.push_back({std::move(argv), std::move(environment), std::move(standard_input), deadline});
    loop_.post([done = std::move(done), exit = exit] { done(exit); });
  }
  std::vector<Started> started;
  Exit exit{0, false, "", ""};

 private:
  VirtualReactor& loop_;
};

// A service manager with one unit, whose state and answers are the test's.
class FakeUnits : public remedies::Units {
 public:
  explicit FakeUnits(VirtualReactor& loop) : loop_(loop) {}
  void look(std::string unit, milliseconds, std::function<void(Result<remedies::UnitState>)> done) override {
    looked.push_back(std::move(unit));
    loop_.post([this, done = std::move(done)] { why_silent.empty() ? done(state) : done(Error{why_silent}); });
  }
  void may_restart(std::string, milliseconds, std::function<void(Result<void>)> done) override {
    ++asked;
    loop_.post([this, done = std::move(done)] { forbidden.empty() ? done({}) : done(Error{forbidden}); });
  }
  void restart(std::string unit, milliseconds deadline, std::function<void(Result<remedies::UnitState>)> done) override {
    restarted.push_back(unit + " " + std::to_string(deadline.count()));
    state.active_state = "active";
    state.sub_state = "running";
    state.invocation = "start " + std::to_string(restarted.size());
    loop_.post([this, done = std::move(done)] { fails.empty() ? done(state) : done(Error{fails}); });
  }
  remedies::UnitState state{"opensm.service", "loaded", "failed", "failed", "start 0"};
  std::string why_silent, forbidden, fails;
  std::vector<std::string> looked, restarted;
  int asked = 0;

 private:
  VirtualReactor& loop_;
};

// The neighbours that the test says there are.
class FakeNeighbours : public remedies::Neighbours {
 public:
  [[nodiscard]] std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const override {
    std::vector<PortNeighbour> out;
    for (const auto& one : all)
      if (one.device == device && one.port == port) out.push_back(one);
    return out;
  }
  std::vector<PortNeighbour> all;
};

}  // namespace rdmend::test
