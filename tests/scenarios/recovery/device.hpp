// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "agent/psn.hpp"
#include "agent/table.hpp"

// A modelled RC queue pair: what an RDMA device does with packets, and no more. Memory is cells of one packet each.
namespace rdmend::test {

using agent::RequestKind;

enum class Status : std::uint8_t { success, retry_exceeded, rnr_exceeded, remote_access, flushed };

struct WorkRequest {
  std::uint64_t id = 0;
  RequestKind kind = RequestKind::send;
  int script = -1;  // which of the application's requests, for the judge; -1: a probe
  std::uint32_t cell = 0, cells = 0, skipped = 0;  // cells are those still to be sent, the first of them being `cell`
  bool signalled = true, poisoned = false;  // poisoned: the responder refuses it
};
struct Completion {
  std::uint64_t id = 0;
  Status status = Status::success;
  bool receive = false;
  int script = -1;  // of the message that a receive took
};

enum class PacketKind : std::uint8_t { request, ack, nak, rnr, response, refusal };
struct Packet {
  PacketKind kind = PacketKind::request;
  RequestKind request = RequestKind::send;
  std::uint32_t psn = 0;
  int script = -1;
  std::uint32_t cell = 0, count = 0;  // of a READ: how many are asked for; else 1, or 0 for a packet without data
  std::uint32_t index = 0;            // which packet of the whole request
  bool first = true, last = true, poisoned = false;
  std::uint64_t value = 0;
};

// What the model's judge is told as it happens.
struct Witness {
  std::function<void(int script, std::uint32_t packet)> executed;        // one packet of a WRITE, one whole atomic
  std::function<void(int script, std::uint32_t index, std::uint64_t value)> returned;  // of a READ or an atomic
  std::function<void(Status)> failed;
};

class Device {
 public:
  static constexpr std::uint32_t kCells = 12, kQueue = 4;

  std::function<void(const Packet&)> transmit;
  std::function<void(std::uint32_t after, bool receiver_not_ready)> arm_timer;
  Witness witness;
  std::deque<Completion> cq;
  std::array<std::uint64_t, kCells> memory{};
  std::uint8_t retries = 2;
  bool begun_at_error = false;  // a receive was begun when this life ended

  enum class State : std::uint8_t { reset, ready, error } state = State::reset;

  void reset() {
    state = State::reset;
    sq_.clear();
    rq_.clear();
    cq.clear();  // mlx5 does so: what was not drained is lost
    begun_.reset();
    answered_.clear();
    ++epoch_;
  }
  void ready(std::uint32_t rq_psn, std::uint64_t sq_psn) {
    state = State::ready;
    begun_at_error = false;
    rq_psn_ = rq_psn;
    next_ = una_ = sq_psn;
    retries_left_ = rnr_left_ = retries;
  }
  void to_error() {
    if (state != State::ready) return;
    state = State::error;
    ++epoch_;
    begun_at_error = begun_.has_value();
    if (begun_) cq.push_back({*begun_, Status::flushed, true, -1});
    begun_.reset();
    for (const auto id : rq_) cq.push_back({id, Status::flushed, true, -1});
    for (const auto& wqe : sq_) cq.push_back({wqe.wr.id, Status::flushed, false, -1});
    sq_.clear();
    rq_.clear();
  }
  [[nodiscard]] std::uint32_t rq_psn() const { return rq_psn_; }
  [[nodiscard]] std::uint64_t next_psn() const { return next_; }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] std::size_t receives() const { return rq_.size(); }

  bool post_send(const WorkRequest& wr) {
    if (state == State::error) {
      next_ += std::max<std::uint64_t>(1, wr.cells);
      cq.push_back({wr.id, Status::flushed, false, -1});
      return true;
    }
    if (state != State::ready || sq_.size() >= kQueue) return false;
    sq_.push_back({wr, next_, std::max<std::uint64_t>(1, wr.cells)});
    next_ += sq_.back().psns;
    send(sq_.back(), sq_.back().first);
    if (sq_.size() == 1) arm_timer(epoch_, false);
    return true;
  }
  void post_receive(std::uint64_t id) {
    if (state == State::error) {
      cq.push_back({id, Status::flushed, true, -1});
    } else {
      rq_.push_back(id);
    }
  }
  // Nothing has been heard for a while.
  void timed_out(std::uint32_t epoch, bool receiver_not_ready) {
    if (epoch != epoch_ || state != State::ready || sq_.empty()) return;
    if (receiver_not_ready) {
      resend(una_);
    } else {
      try_again(una_, Status::retry_exceeded, retries_left_);
    }
  }
  // As if the retries had just been exhausted.
  void fail_now() {
    if (state == State::ready && !sq_.empty()) fail(Status::retry_exceeded);
  }
  void receive(const Packet& p) {
    if (state != State::ready) return;
    if (p.kind == PacketKind::request) return respond(p);
    if (!sq_.empty()) answered(p);
  }

 private:
  struct Wqe {
    WorkRequest wr;
    std::uint64_t first = 0, psns = 1;
    [[nodiscard]] std::uint64_t end() const { return first + psns; }
    [[nodiscard]] bool returns() const { return wr.kind == RequestKind::read || wr.kind == RequestKind::atomic; }
  };

  void fill(Packet& p, const Wqe& w, std::uint64_t psn) const {
    p.psn = agent::wire_psn(psn);
    p.request = w.wr.kind;
    p.script = w.wr.script;
    p.index = static_cast<std::uint32_t>(psn - w.first);
    p.cell = w.wr.cell + p.index;
    p.index += w.wr.skipped;
    p.count = w.wr.cells == 0 ? 0 : 1;
    p.first = psn == w.first;
    p.last = psn + 1 == w.end();
    p.poisoned = w.wr.poisoned;
    p.value = static_cast<std::uint64_t>(w.wr.script + 1) * 16 + p.index;
  }
  void send(const Wqe& w, std::uint64_t from) {
    for (auto psn = from; psn < w.end(); ++psn) {
      Packet p;
      fill(p, w, psn);
      if (w.wr.kind == RequestKind::read) p.count = w.wr.cells == 0 ? 0 : static_cast<std::uint32_t>(w.end() - psn);
      transmit(p);
      if (w.returns()) return;
    }
  }
  void resend(std::uint64_t from) {
    ++epoch_;
    for (const auto& w : sq_)
      if (w.end() > from) send(w, std::max(from, w.first));
    arm_timer(epoch_, false);
  }
  void try_again(std::uint64_t from, Status status, std::uint8_t& left) {
    if (left == 0) return fail(status);
    --left;
    resend(from);
  }
  void fail(Status status) {
    witness.failed(status);
    cq.push_back({sq_.front().wr.id, status, false, -1});
    sq_.pop_front();
    to_error();
  }
  // Everything before `until` has been executed; a READ or atomic must have its response as well.
  void acknowledge(std::uint64_t until) {
    bool moved = false;
    while (!sq_.empty() && sq_.front().end() <= until && !sq_.front().returns()) complete(), moved = true;
    if (!sq_.empty() && !sq_.front().returns() && until > una_) una_ = std::min(until, sq_.front().end()), moved = true;
    if (moved) progressed();
  }
  void complete() {
    const auto& w = sq_.front();
    una_ = w.end();
    if (w.wr.signalled) cq.push_back({w.wr.id, Status::success, false, -1});
    sq_.pop_front();
  }
  void progressed() {
    retries_left_ = rnr_left_ = retries;
    ++epoch_;
    if (!sq_.empty()) arm_timer(epoch_, false);
  }
  void answered(const Packet& p) {
    // As a device does: ahead of what it knows is new, however far; behind is old.
    const auto distance = agent::psn_distance(agent::wire_psn(una_), p.psn);
    if (distance < 0) return;
    const auto psn = una_ + static_cast<std::uint64_t>(distance);
    switch (p.kind) {
      case PacketKind::ack: return acknowledge(psn + 1);
      case PacketKind::nak:
        acknowledge(psn);
        if (!sq_.empty()) try_again(una_, Status::retry_exceeded, retries_left_);
        return;
      case PacketKind::rnr:
        acknowledge(psn);
        if (sq_.empty()) return;
        if (rnr_left_ == 0) return fail(Status::rnr_exceeded);
        --rnr_left_;
        ++epoch_;
        return arm_timer(epoch_, true);
      case PacketKind::refusal:
        acknowledge(psn);
        if (!sq_.empty()) fail(Status::remote_access);
        return;
      default: return response(p, psn);
    }
  }
  void response(const Packet& p, std::uint64_t psn) {
    acknowledge(psn);
    if (sq_.empty() || !sq_.front().returns() || psn != una_ || psn < sq_.front().first) return;
    const auto& w = sq_.front();
    if (w.wr.cells > 0) witness.returned(w.wr.script, static_cast<std::uint32_t>(psn - w.first), p.value);
    una_ = psn + 1;
    if (una_ == w.end()) complete();
    progressed();
  }

  void answer(PacketKind kind, std::uint32_t psn) {
    Packet p;
    p.kind = kind;
    p.psn = psn & agent::kPsnMask;
    transmit(p);
  }
  void respond(const Packet& p) {
    const auto distance = agent::psn_distance(rq_psn_, p.psn);
    if (distance > 0) return answer(PacketKind::nak, rq_psn_);
    if (p.poisoned && distance == 0) return answer(PacketKind::refusal, p.psn);
    if (p.request == RequestKind::read) return read(p, distance == 0);
    if (p.request == RequestKind::atomic) return atomic(p, distance == 0);
    if (distance < 0) return answer(PacketKind::ack, rq_psn_ - 1);
    const bool takes = p.request == RequestKind::send ? p.first : p.request == RequestKind::write_with_imm && p.last;
    if (takes) {
      if (rq_.empty()) return answer(PacketKind::rnr, p.psn);
      begun_ = rq_.front();
      rq_.pop_front();
    }
    if (p.request != RequestKind::send && p.count > 0) memory[p.cell] = p.value;
    witness.executed(p.script, p.index);
    rq_psn_ = (rq_psn_ + 1) & agent::kPsnMask;
    if (p.last && begun_) {
      cq.push_back({*begun_, Status::success, true, p.script});
      begun_.reset();
    }
    answer(PacketKind::ack, p.psn);
  }
  void read(const Packet& p, bool fresh) {
    for (std::uint32_t i = 0; i < std::max(1U, p.count); ++i) {
      Packet back;
      back.kind = PacketKind::response;
      back.psn = (p.psn + i) & agent::kPsnMask;
      back.value = once(back.psn, p.count > 0 ? memory[p.cell + i] : 0, fresh);
      transmit(back);
    }
    if (fresh) rq_psn_ = (rq_psn_ + std::max(1U, p.count)) & agent::kPsnMask;
  }
  void atomic(const Packet& p, bool fresh) {
    if (!fresh && !answered_.contains(p.psn)) return;
    Packet back;
    back.kind = PacketKind::response;
    back.psn = p.psn;
    back.value = once(p.psn, memory[p.cell], fresh);
    if (fresh) {
      memory[p.cell] += 1000;
      witness.executed(p.script, 0);
      rq_psn_ = (rq_psn_ + 1) & agent::kPsnMask;
    }
    transmit(back);
  }
  // A duplicate is answered with what was answered first. Of a READ a real device reads again, which is the application's affair (it
  // sets a fence, or bears it); here it would hide what a recovery does to READs.
  std::uint64_t once(std::uint32_t psn, std::uint64_t value, bool fresh) {
    if (fresh) answered_[psn] = value;
    const auto kept = answered_.find(psn);
    return kept != answered_.end() ? kept->second : value;
  }

  std::deque<Wqe> sq_;
  std::deque<std::uint64_t> rq_;
  std::optional<std::uint64_t> begun_;
  std::map<std::uint32_t, std::uint64_t> answered_;  // by PSN, of this life
  std::uint32_t rq_psn_ = 0;
  std::uint64_t next_ = 0, una_ = 0;
  std::uint8_t retries_left_ = 0, rnr_left_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace rdmend::test
