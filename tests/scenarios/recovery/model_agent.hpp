// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "agent/psn.hpp"
#include "agent/recovery.hpp"
#include "agent/table.hpp"
#include "scenarios/recovery/chooser.hpp"
#include "scenarios/recovery/device.hpp"
#include "scenarios/recovery/mutant.hpp"

// The agent of one end, around the real machine and the real table: shadow queues, and what the machine asks for done to the device.
namespace rdmend::test {

using agent::RecoveryAction;

struct AppCompletion {  // a completion as the application sees it
  int script = -1;  // of a send; -1 for a receive
  int message = -1; // the request of the other end that a receive took
  Status status = Status::success;
  bool receive = false;
  std::uint64_t number = 0;  // of a receive: which of those that were posted
};

class ModelAgent {
 public:
  // What takes time is done by the world, which calls back with the same generation.
  std::function<void(std::uint32_t generation)> begin_drain, begin_rebuild;
  std::function<void(const AppCompletion&)> tell;
  std::function<void(const char* what)> trace = [](const char*) {};

  ModelAgent(Device& device, const agent::RecoverySettings& settings, std::uint64_t own, Chooser& chooser, Mutant mutant)
      : machine(settings, own), device_(device), chooser_(chooser), mutant_(mutant) {}

  agent::Recovery machine;

  void post_send(const WorkRequest& wr) {
    Shadow s;
    s.wr = wr;
    s.request.kind = wr.kind;
    s.request.signalled = wr.signalled;
    s.request.posted = false;
    s.request.remote_address = std::uint64_t{wr.cell} * kMtu;
    s.request.length = wr.kind == RequestKind::atomic ? 8 : wr.cells * kMtu;
    sends_.push_back(s);
    pump();
  }
  void post_receive() {
    ++receives_;
    if (receives_flow_ && !released_) give_receive();
    machine.receives_posted(now_, static_cast<std::uint32_t>(receives_ - received_));
  }
  void poll(Instant now) {
    now_ = now;
    while (!device_.cq.empty()) {
      const auto c = device_.cq.front();
      device_.cq.pop_front();
      completed(c);
    }
    step(now);
  }
  void step(Instant now) {
    now_ = now;
    if (busy_) return;
    for (auto action = machine.next(now); action != RecoveryAction::none; action = busy_ ? RecoveryAction::none : machine.next(now)) act(action);
    pump();
  }
  // The device is in ERR by now; what it flushed is withheld.
  void finish_drain(Instant now, std::uint32_t generation) {
    now_ = now;
    busy_ = false;
    if (mutant_ != Mutant::drops_drained) poll_flushes();
    const bool alive = device_.state != Device::State::reset;
    auto next = next_psn_;
    if (mutant_ == Mutant::psn_half_ring_ahead) next += agent::kPsnWindow;
    if (mutant_ == Mutant::psn_again) next = life_psn_ - agent::kPsnGap - agent::kPsnGap / 2;
    machine.drained(now, generation, alive ? std::optional(device_.rq_psn()) : std::nullopt, next, static_cast<std::uint32_t>(chooser_.next()));
    step(now);
  }
  bool start_rebuild(Instant now, std::uint32_t generation) {
    now_ = now;
    if (!machine.rebuilding(generation)) {
      busy_ = false;
      step(now);
      return false;
    }
    building_life_ = machine.state().expected.life;
    building_rq_ = machine.state().expected.psn;
    building_sq_ = machine.new_psn();
    receives_flow_ = false;
    device_.reset();
    return true;
  }
  void finish_rebuild(Instant now, std::uint32_t generation, bool well) {
    now_ = now;
    busy_ = false;
    if (well) {
      const bool begun = device_.begun_at_error;
      device_.ready(building_rq_, building_sq_);
      life_ = building_life_;
      oldest_ = next_psn_ = life_psn_ = building_sq_;
      probed_ = false;
      receives_flow_ = true;
      given_ = received_ + (mutant_ == Mutant::forgets_begun_receive && begun ? 1 : 0);
      while (given_ < receives_) give_receive();
    }
    machine.rebuilt(now, generation, well, static_cast<std::uint32_t>(receives_ - received_));
    step(now);
  }
  void release(Instant now) {
    now_ = now;
    step(now);
  }
  void connect(std::uint32_t rq_psn, std::uint64_t sq_psn) {
    device_.ready(rq_psn, sq_psn);
    oldest_ = next_psn_ = life_psn_ = sq_psn;
  }
  [[nodiscard]] bool idle() const { return sends_.empty() && !machine.recovering() && !busy_ && device_.cq.empty(); }
  [[nodiscard]] bool ended() const { return released_; }
  [[nodiscard]] std::size_t outstanding() const { return sends_.size(); }

 private:
  static constexpr std::uint32_t kMtu = 1024;
  static constexpr std::uint64_t kProbe = (std::uint64_t{1} << 40) - 1;

  struct Shadow {
    WorkRequest wr;
    agent::Request request;
    agent::Decision decision;
  };

  void give_receive() { device_.post_receive(std::uint64_t{life_} << 40 | given_++); }

  void act(RecoveryAction action) {
    switch (action) {
      case RecoveryAction::read_psn:
        trace("reads rq_psn");
        return machine.psn_read(now_, device_.state == Device::State::reset ? std::nullopt : std::optional(device_.rq_psn()));
      case RecoveryAction::judge: return judge();
      case RecoveryAction::drain:
        trace("goes to ERR");
        busy_ = true;
        device_.to_error();
        return begin_drain(machine.generation());
      case RecoveryAction::rebuild:
        trace("rebuilds");
        busy_ = true;
        return begin_rebuild(machine.generation());
      case RecoveryAction::replay:
        return trace("replays");
      case RecoveryAction::release: return release_all();
      case RecoveryAction::resume: return trace("resumes");
      default: return;
    }
  }
  void judge() {
    std::vector<agent::Request> requests;
    for (const auto& s : sends_) requests.push_back(s.request);
    mutate(requests);
    std::vector<agent::Decision> decisions(requests.size());
    auto told = agent::told_of(life_, machine.peer());
    if (mutant_ == Mutant::any_life) told = {false, true, machine.peer().expected.psn};
    const auto refusal = agent::judge(requests, {oldest_, next_psn_, kMtu}, told, decisions);
    mutate(decisions);
    trace(refusal == RecoveryRefusal::none ? "agrees" : recovery_refusal_name(refusal));
    const auto when = mutant_ == Mutant::believes_passing_psn ? RecoveryPhase::asked : RecoveryPhase::known;
    if (refusal == RecoveryRefusal::none && machine.state().phase == when) apply(decisions);
    machine.judged(now_, refusal, agent::needs_of(requests, decisions));
  }
  void mutate(std::vector<agent::Request>& requests) const {
    for (auto& r : requests) {
      if (mutant_ == Mutant::reads_what_was_overwritten && r.kind == RequestKind::read) r.length = 0;
      if (mutant_ == Mutant::adds_twice && r.kind == RequestKind::atomic) r.kind = RequestKind::read;
    }
  }
  void mutate(std::vector<agent::Decision>& decisions) const {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      auto& d = decisions[i];
      const auto& r = sends_[i].request;
      if (mutant_ == Mutant::replays_blindly && d.fate == agent::Fate::complete && !r.executed) d.fate = agent::Fate::replay;
      if (mutant_ == Mutant::straddling_is_executed && (d.fate == agent::Fate::replay_rest || d.begun)) d.fate = agent::Fate::complete;
      if (mutant_ == Mutant::replays_the_whole && d.fate == agent::Fate::replay_rest) d.skip = r.skipped;
      if (mutant_ == Mutant::does_not_wait) d.waits = false;
    }
  }
  void apply(const std::vector<agent::Decision>& decisions) {
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      auto& s = sends_[i];
      s.decision = decisions[i];
      if (decisions[i].fate == agent::Fate::complete && !s.request.executed) made_good();
      s.request.executed = decisions[i].fate == agent::Fate::complete;
      s.request.skipped = decisions[i].skip;
      s.request.posted = false;
    }
    lead();
    if (mutant_ != Mutant::does_not_wait) return;
    for (auto& s : sends_)
      if (s.request.executed && s.wr.signalled) tell({s.wr.script, -1, Status::success, false});
  }
  // What is at the head and known to be executed is complete.
  void lead() {
    while (!sends_.empty() && sends_.front().request.executed) complete_front();
  }
  void complete_acknowledged() {
    if (const auto& r = sends_.front().request; r.posted) oldest_ = r.first_psn + r.psns;
    complete_front();
  }
  void complete_front() {
    const auto s = sends_.front();
    sends_.pop_front();
    ++first_;
    if (s.wr.signalled || (mutant_ == Mutant::tells_swallowed && s.decision.signal)) tell({s.wr.script, -1, Status::success, false});
  }
  void pump() {
    if (!machine.flows() || busy_ || released_) return;
    for (auto& s : sends_) {
      if (s.request.posted || s.request.executed) continue;
      if (reads_ && life_ > 0 && !probed_) {
        WorkRequest probe;
        probe.id = std::uint64_t{life_} << 40 | kProbe;
        probe.kind = RequestKind::read;
        if (!device_.post_send(probe)) return;
        probed_ = true;
        next_psn_ = device_.next_psn();
      }
      auto wr = s.wr;
      const auto skipped = s.request.skipped / kMtu;
      wr.id = std::uint64_t{life_} << 40 | (first_ + index_of(s));
      wr.cell += skipped;
      wr.cells -= skipped;
      wr.skipped = skipped;
      wr.signalled = wr.signalled || s.decision.signal;
      const auto psn = device_.next_psn();
      if (!device_.post_send(wr)) return;
      s.request.first_psn = psn;
      s.request.psns = device_.next_psn() - psn;
      s.request.posted = true;
      next_psn_ = device_.next_psn();
      reads_ = reads_ || wr.kind == RequestKind::read;
    }
  }
  std::size_t index_of(const Shadow& s) const {
    for (std::size_t i = 0; i < sends_.size(); ++i)
      if (&sends_[i] == &s) return i;
    return 0;
  }

  void completed(const Completion& c) {
    const auto life = c.id >> 40, sequence = c.id & kProbe;
    if (life != life_) return;  // of an earlier life
    if (c.status != Status::success) return error(c, sequence);
    if (c.receive) return receive(c);
    if (sequence == kProbe) return;
    if (sequence < first_) return;
    if (released_) return;
    while (first_ <= sequence) complete_acknowledged();
    lead();
    carried();
  }
  void carried() {
    machine.carried();
    made_good();
  }
  // Something was executed in a later life than that of the error: what comes from here on is another one.
  void made_good() {
    if (life_ > original_life_) original_.reset();
  }
  void receive(const Completion& c) {
    ++received_;
    tell({-1, c.script, Status::success, true, c.id & kProbe});
    carried();
  }
  void error(const Completion& c, std::uint64_t sequence) {
    if (released_) return;
    if (c.status == Status::flushed) return;  // its cause has been seen, or is our own doing
    if (machine.recovering() && machine.state().phase != RecoveryPhase::asked && machine.state().phase != RecoveryPhase::built) return;
    // The device completes in order: what is older went well.
    if (sequence != kProbe)
      while (first_ < sequence) complete_acknowledged();
    original_ = c.status;
    original_life_ = life_;
    if (releasing_) return;
    if (c.status == Status::remote_access) {
      trace("has an error of its own");
      machine.forbidden(now_, RecoveryCause::own_error);
      return release_all();
    }
    trace(c.status == Status::rnr_exceeded ? "fails: receiver not ready" : "fails: retries exceeded");
    machine.failed(now_, c.status == Status::rnr_exceeded ? RecoveryCause::receiver_not_ready : RecoveryCause::transport);
    if (!machine.withholds()) release_all();
  }
  void poll_flushes() {
    while (!device_.cq.empty()) {
      const auto c = device_.cq.front();
      device_.cq.pop_front();
      completed(c);
    }
  }
  // The application's own error: what is older went well, what is younger is flushed.
  void release_all() {
    if (releasing_) return;
    releasing_ = true;
    trace("hands the error over");
    device_.to_error();
    poll_flushes();
    released_ = true;
    if (mutant_ == Mutant::loses_the_error) original_.reset();
    bool error_told = false;
    for (; !sends_.empty(); sends_.pop_front(), ++first_) {
      const auto& s = sends_.front();
      if (s.request.executed && !error_told) {
        if (s.wr.signalled) tell({s.wr.script, -1, Status::success, false});
        continue;
      }
      tell({s.wr.script, -1, original_ && !error_told ? *original_ : Status::flushed, false});
      error_told = true;
    }
    for (; received_ < receives_; ++received_) tell({-1, -1, Status::flushed, true, received_});
  }

  Device& device_;
  Chooser& chooser_;
  Instant now_{};
  std::deque<Shadow> sends_;
  std::uint64_t first_ = 0;  // sequence of the oldest of them
  std::uint64_t receives_ = 0, received_ = 0, given_ = 0;
  Mutant mutant_;
  std::uint64_t oldest_ = 0, next_psn_ = 0, life_psn_ = 0, building_sq_ = 0;
  std::uint32_t life_ = 0, original_life_ = 0, building_life_ = 0, building_rq_ = 0;
  bool busy_ = false, receives_flow_ = true, reads_ = false, probed_ = false, releasing_ = false, released_ = false;
  std::optional<Status> original_;
};

}  // namespace rdmend::test
