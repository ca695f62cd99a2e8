// SPDX-License-Identifier: Apache-2.0
#include "agent/table.hpp"

#include <algorithm>
#include <array>

#include "agent/psn.hpp"

namespace rdmend::agent {
namespace {

using enum Fate;

// By kind; in each row executed, straddles, not begun, untold. SEND: its receive is posted again by the other end, as all are that did
// not complete; the message goes from its beginning, since the receive does. An atomic of one packet cannot straddle. A READ
// changes nothing at the responder; its data may be lost. A WRITE's rest is what the PSN says did not arrive: the whole would
// write again where a reader that polls memory has gone on.
constexpr std::array<std::array<Fate, 4>, 6> kTable{{
    {complete, replay_rest, replay, refuse_no_psn},                                              // write
    {complete, replay_rest, replay, refuse_no_psn},                                              // write_with_imm
    {complete, replay, replay, refuse_no_psn},                                                   // send
    {replay, replay, replay, replay},                                                            // read
    {refuse_executed_atomic, refuse_executed_atomic, replay, refuse_no_psn},                     // atomic
    {refuse_memory_window, refuse_memory_window, refuse_memory_window, refuse_memory_window},    // memory_window
}};

RecoveryRefusal refusal_of(Fate fate) {
  switch (fate) {
    case refuse_executed_atomic: return RecoveryRefusal::atomic_executed;
    case refuse_no_psn: return RecoveryRefusal::no_rq_psn;
    case refuse_memory_window: return RecoveryRefusal::memory_window;
    default: return RecoveryRefusal::none;
  }
}

struct Range {
  std::uint64_t from = 0, to = 0;
  [[nodiscard]] bool overlaps(const Range& other) const { return from < other.to && other.from < to; }
};
Range range_of(const Request& r) { return {r.remote_address, r.remote_address + r.length}; }

// May it have changed memory at the responder, some of it at least? In an earlier life, in part, or where the device does not tell.
bool changed(const Request& r, Progress progress, bool posted_now) {
  if (r.kind != RequestKind::write && r.kind != RequestKind::write_with_imm && r.kind != RequestKind::atomic) return false;
  return r.executed || r.skipped > 0 || (posted_now && progress != Progress::not_begun);
}

class Judge {
 public:
  Judge(std::span<const Request> requests, const Numbering& numbering, const Told& told, std::span<Decision> decisions)
      : requests_(requests), numbering_(numbering), told_(told), decisions_(decisions) {}

  RecoveryRefusal run() {
    if (const auto refusal = locate(); refusal != RecoveryRefusal::none) return refusal;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (const auto refusal = decide(i); refusal != RecoveryRefusal::none) return refusal;
    if (overwritten()) return RecoveryRefusal::read_overwritten;
    order();
    return RecoveryRefusal::none;
  }

 private:
  // A PSN before the first or behind the last of our requests was moved by something that is not ours, and says nothing of them.
  RecoveryRefusal locate() {
    if (told_.foreign) return RecoveryRefusal::psn_foreign;
    if (numbering_.next - numbering_.oldest > kPsnWindow) return RecoveryRefusal::psn_window;
    if (!told_.live) return RecoveryRefusal::none;
    expected_ = told_.psn ? psn_after(numbering_.oldest, *told_.psn) : numbering_.oldest;
    return expected_ <= numbering_.next ? RecoveryRefusal::none : RecoveryRefusal::psn_foreign;
  }
  [[nodiscard]] Progress progress(const Request& r) const {
    if (!r.posted) return Progress::not_begun;
    if (!told_.live) return Progress::untold;
    if (r.first_psn + r.psns <= expected_) return Progress::executed;
    return r.first_psn < expected_ ? Progress::straddles : Progress::not_begun;
  }
  RecoveryRefusal decide(std::size_t i) {
    const auto& r = requests_[i];
    auto& d = decisions_[i] = Decision{};
    d.skip = r.skipped;
    d.fate = r.executed ? complete : fate_of(r.kind, progress(r), r.replay_safe);
    d.begun = r.kind == RequestKind::send && !r.executed && progress(r) == Progress::straddles;
    if (d.fate == replay_rest) d.skip += static_cast<std::uint32_t>((expected_ - r.first_psn) * numbering_.path_mtu);
    return refusal_of(d.fate);
  }
  // A READ that may have been executed is replayed: it must not see what came after it.
  [[nodiscard]] bool overwritten() const {
    Range hull;
    for (std::size_t i = requests_.size(); i-- > 0;) {
      const auto& r = requests_[i];
      if (r.kind == RequestKind::read && hull.to > hull.from && range_of(r).overlaps(hull) && overwritten(i)) return true;
      if (!changed(r, progress(r), r.posted)) continue;
      const auto range = range_of(r);
      hull = hull.to > hull.from ? Range{std::min(hull.from, range.from), std::max(hull.to, range.to)} : range;
    }
    return false;
  }
  [[nodiscard]] bool overwritten(std::size_t read) const {
    for (auto i = read + 1; i < requests_.size(); ++i)
      if (const auto& r = requests_[i]; changed(r, progress(r), r.posted) && range_of(r).overlaps(range_of(requests_[read]))) return true;
    return false;
  }
  // Completions come in order: what was executed behind a replayed READ waits for it, and is released by its completion.
  void order() {
    Decision* last_replayed = nullptr;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (decisions_[i].fate != complete) {
        last_replayed = &decisions_[i];
      } else if (last_replayed != nullptr) {
        decisions_[i].waits = true;
        last_replayed->signal = true;
      }
    }
  }

  std::span<const Request> requests_;
  const Numbering& numbering_;
  const Told& told_;
  std::span<Decision> decisions_;
  std::uint64_t expected_ = 0;
};

}  // namespace

Fate fate_of(RequestKind kind, Progress progress, bool replay_safe) {
  if (progress == Progress::untold && replay_safe && (kind == RequestKind::write || kind == RequestKind::send || kind == RequestKind::write_with_imm)) return replay;
  return kTable[static_cast<std::size_t>(kind)][static_cast<std::size_t>(progress)];
}

// The responder may have been built again since then, even more than once, while we were not: then it tells both the life it is
// in and the last one before that in which something came to it. Of the lives between, and of those that it never entered, it received nothing.
Told told_of(std::uint32_t life, const RecoveryState& responder) {
  Told told;
  const auto& now = responder.expected;
  const auto& before = responder.expected_before;
  told.live = now.live && before.live;
  if (life == now.life) {
    told.psn = now.psn;
  } else if (life == before.life) {
    told.psn = before.psn;
  } else if (life < before.life) {
    told.foreign = true;
  }
  return told;
}

RecoveryRefusal judge(std::span<const Request> requests, const Numbering& numbering, const Told& told, std::span<Decision> decisions) {
  return Judge(requests, numbering, told, decisions).run();
}

ReplayNeeds needs_of(std::span<const Request> requests, std::span<const Decision> decisions) {
  ReplayNeeds needs;
  needs.begun_receive = std::ranges::any_of(decisions, &Decision::begun);
  const auto first = std::ranges::find_if(decisions, [](const Decision& d) { return d.fate != complete; });
  needs.nothing = first == decisions.end();
  if (needs.nothing) return needs;
  const auto kind = requests[static_cast<std::size_t>(first - decisions.begin())].kind;
  needs.receive = kind == RequestKind::send || kind == RequestKind::write_with_imm;
  return needs;
}

}  // namespace rdmend::agent
