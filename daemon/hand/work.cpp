// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <unordered_map>

#include "modify.hpp"
#include "owner.hpp"
#include "scan.hpp"
#include "verbs/uverbs_match.hpp"

namespace rdmend::hand {
namespace {

using Kind = wire::HandRequest::Kind;

// One request. A QP is open until its reply has a result or an error.
class Job {
 public:
  Job(RdmaNetlink& netlink, int proc, const wire::HandRequest& request) : netlink_(netlink), proc_(proc), request_(request) {
    reply_.id = request.id;
    for (const auto& qp : request.qps) {
      reply_.qps.emplace_back();
      reply_.qps.back().qpn = qp.qpn;
    }
    open_.assign(request.qps.size(), true);
  }

  wire::HandReply run() {
    if (const auto ready = prepare(); !ready) {
      reply_.error = ready.error().message;
      return std::move(reply_);
    }
    for (std::size_t i = 0; i < request_.qps.size(); ++i) identify(i);
    work_on_owners();
    search_for_owners();
    return std::move(reply_);
  }

 private:
  Result<void> prepare() {
    auto device = netlink_.device(request_.device_index);
    if (!device) return device.error();
    device_ = std::move(*device);
    if (device_.name != request_.device)
      return Error{fmt::format("device {} is {} now, not {}", request_.device_index, device_.name, request_.device)};
    if (request_.kind == Kind::probe)
      if (auto why = forbidden_everywhere(proc_); !why.empty()) return Error{std::move(why)};
    if (!request_.qps.empty()) return list();
    return {};
  }

  Result<void> list() {
    auto qps = netlink_.qps(device_);
    if (!qps) return qps.error();
    listed_ = std::move(*qps);
    std::erase_if(listed_, [](const QpInfo& qp) { return !qp.kernel_owner.empty(); });
    by_qpn_.clear();
    for (std::size_t i = 0; i < listed_.size(); ++i) by_qpn_[listed_[i].qpn] = i;
    return {};
  }

  void close(std::size_t i, std::string error) {
    reply_.qps[i].error = std::move(error);
    open_[i] = false;
  }
  [[nodiscard]] std::vector<std::size_t> still_open(const std::vector<std::size_t>& among) const {
    std::vector<std::size_t> rest;
    std::copy_if(among.begin(), among.end(), std::back_inserter(rest), [&](std::size_t i) { return open_[i]; });
    return rest;
  }

  // Is the QP of that number still the one that was meant, and one that can be told from others?
  void identify(std::size_t i) {
    const auto& asked = request_.qps[i];
    const auto found = by_qpn_.find(asked.qpn);
    if (found == by_qpn_.end()) return close(i, fmt::format("QP {} has gone", asked.qpn));
    const auto& now = listed_[found->second];
    if (!verbs::connected(now))
      return close(i, fmt::format("QP {} is a {} QP in {}: only a connected one can be told from others", asked.qpn, qp_type_name(now.type), qp_state_name(now.state)));
    if (*now.remote_qpn != asked.remote_qpn)
      return close(i, fmt::format("QP {} has QP {} as its peer now, not {}: it is another connection", asked.qpn, *now.remote_qpn, asked.remote_qpn));
    if (now.pid != 0 && now.pid != asked.pid)
      return close(i, fmt::format("QP {} is thread {}'s now, not {}'s: it is another QP", asked.qpn, now.pid, asked.pid));
    if (request_.kind == Kind::modify_min_rnr_timer && now.state != static_cast<std::uint8_t>(QpState::rts))
      close(i, fmt::format("QP {} is in {}: the kernel lets the timer be changed in RTS only", asked.qpn, qp_state_name(now.state)));
  }

  // 0 when the thread has ended.
  std::uint32_t process_of_thread(std::uint32_t tid) {
    if (tid == 0) return 0;
    const auto [at, fresh] = processes_.try_emplace(tid, 0);
    if (fresh)
      if (const auto process = process_of(proc_, tid)) at->second = *process;
    return at->second;
  }

  [[nodiscard]] std::uint32_t thread_of(std::size_t i) const { return listed_[by_qpn_.at(request_.qps[i].qpn)].pid; }

  // First the QPs whose making thread still lives: it tells the process.
  void work_on_owners() {
    std::map<std::uint32_t, std::vector<std::size_t>> by_process;
    for (std::size_t i = 0; i < request_.qps.size(); ++i)
      if (open_[i])
        if (const auto tgid = process_of_thread(thread_of(i)); tgid != 0) by_process[tgid].push_back(i);
    for (const auto& [tgid, indexes] : by_process) {
      const auto done = work_on(tgid, indexes, thread_of(indexes.front()));
      if (done) continue;
      for (const auto i : still_open(indexes))
        if (done.error().code == ENODEV) not_told_[i] = done.error().message;  // it gave the device to another process, perhaps: search
        else close(i, done.error().message);
    }
  }

  // Then the others: any process that has the device open may be theirs.
  void search_for_owners() {
    std::vector<std::size_t> all(request_.qps.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    if (still_open(all).empty()) return;
    std::string trouble;
    for (const auto tgid : all_processes(proc_)) {
      const auto rest = still_open(all);
      if (rest.empty()) return;
      if (const auto done = work_on(tgid, rest, 0); !done && done.error().code == EPERM) trouble = done.error().message;
    }
    for (const auto i : still_open(all)) {
      const auto& known = not_told_[i].empty() ? trouble : not_told_[i];
      close(i, fmt::format("no process was found that has QP {}", request_.qps[i].qpn) + (known.empty() ? "" : ": " + known));
    }
  }

  // The listed QPs that may be this process's: its threads', and those whose thread has ended.
  std::vector<QpInfo> candidates(std::uint32_t tgid, std::size_t& wanted) {
    std::vector<QpInfo> out;
    for (const auto& qp : listed_)
      if (const auto process = process_of_thread(qp.pid); process == tgid || process == 0) out.push_back(qp);
    wanted = out.size();
    return out;
  }

  Result<void> work_on(std::uint32_t tgid, const std::vector<std::size_t>& indexes, std::uint32_t thread) {
    auto owner = Owner::find(proc_, tgid, device_);
    if (!owner) return owner.error();
    // From here on the number cannot mean another process; did it before?
    if (const auto again = thread != 0 ? process_of(proc_, thread) : tgid; !again || *again != tgid)
      return Error{fmt::format("thread {} has ended", thread), ENODEV};
    Hold hold(*owner);
    auto done = request_.kind == Kind::probe ? probe(hold, indexes) : touch(hold, tgid, indexes);
    hold.release();
    reply_.held_nanoseconds = std::max<std::uint64_t>(reply_.held_nanoseconds, static_cast<std::uint64_t>(hold.longest().count()));
    return done;
  }

  // A descriptor could be taken: nothing forbids it here. Whose a QP without a thread is, is not asked.
  Result<void> probe(Hold& hold, const std::vector<std::size_t>& indexes) {
    if (auto taken = hold.refresh(); !taken) return taken.error();
    for (const auto i : indexes) {
      reply_.qps[i].tgid = process_of_thread(thread_of(i));
      open_[i] = false;
    }
    return {};
  }

  Result<void> touch(Hold& hold, std::uint32_t tgid, const std::vector<std::size_t>& indexes) {
    std::size_t wanted = 0;
    const auto mine = candidates(tgid, wanted);
    auto answers = scan(hold, device_.driver_id, wanted);
    hold.release();  // what follows takes its time, a second listing most of all
    if (!answers) return answers.error();
    std::vector<wire::QpAttributes> attributes;
    for (const auto& answer : *answers) attributes.push_back(answer.attributes);
    auto groups = verbs::match_qps(mine, {}, attributes);
    if (undecided(groups, mine, indexes)) {
      const auto later = netlink_.qps(device_);
      if (!later) return later.error();
      groups = verbs::match_qps(mine, *later, attributes);
    }
    for (const auto& group : groups) settle(hold, tgid, group, mine, *answers, indexes);
    return {};
  }

  // The indexes, among those asked for, of a group's QPs.
  std::vector<std::size_t> asked_in(const verbs::MatchGroup& group, const std::vector<QpInfo>& mine, const std::vector<std::size_t>& indexes) const {
    std::vector<std::size_t> asked;
    for (const auto l : group.listed)
      for (const auto i : indexes)
        if (open_[i] && request_.qps[i].qpn == mine[l].qpn) asked.push_back(i);
    return asked;
  }

  bool undecided(const std::vector<verbs::MatchGroup>& groups, const std::vector<QpInfo>& mine, const std::vector<std::size_t>& indexes) const {
    return std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return !group.exact() && !group.answered.empty() && !asked_in(group, mine, indexes).empty(); });
  }

  void settle(Hold& hold, std::uint32_t tgid, const verbs::MatchGroup& group, const std::vector<QpInfo>& mine, const std::vector<Answer>& answers,
              const std::vector<std::size_t>& indexes) {
    const auto asked = asked_in(group, mine, indexes);
    if (asked.empty() || group.answered.empty()) return;  // not here: perhaps in another process
    if (!group.closed() || asked.size() != group.listed.size()) {
      for (const auto i : asked) not_told_[i] = fmt::format("it cannot be told from {}", others(group, mine, request_.qps[i].qpn));
      return;
    }
    std::vector<Answer> theirs;
    for (const auto a : group.answered) theirs.push_back(answers[a]);
    std::vector<Target> targets;
    targets.reserve(asked.size());
    for (const auto i : asked) targets.push_back({&request_.qps[i], &reply_.qps[i]});
    for (const auto i : asked) {
      reply_.qps[i].tgid = tgid;
      open_[i] = false;
    }
    if (request_.kind == Kind::query) tell(targets, theirs);
    else modify(hold, device_.driver_id, targets, theirs);
  }

  static std::string others(const verbs::MatchGroup& group, const std::vector<QpInfo>& mine, std::uint32_t qpn) {
    std::string names;
    std::size_t count = 0;
    for (const auto l : group.listed)
      if (mine[l].qpn != qpn && ++count <= 3) names += fmt::format("{}QP {}", names.empty() ? "" : ", ", mine[l].qpn);
    if (count > 3) names += fmt::format(" and {} more", count - 3);
    return names.empty() ? "a QP that was made meanwhile" : names;
  }

  RdmaNetlink& netlink_;
  int proc_;
  const wire::HandRequest& request_;
  wire::HandReply reply_;
  Device device_;
  std::vector<QpInfo> listed_;
  std::unordered_map<std::uint32_t, std::size_t> by_qpn_;
  std::unordered_map<std::uint32_t, std::uint32_t> processes_;
  std::vector<bool> open_;
  std::map<std::size_t, std::string> not_told_;
};

}  // namespace

wire::HandReply Work::answer(const wire::HandRequest& request) {
  return wire::about_neighbours(request.kind) ? route_.answer(request) : Job(netlink_, proc_.get(), request).run();
}

}  // namespace rdmend::hand
