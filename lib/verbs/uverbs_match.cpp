// SPDX-License-Identifier: Apache-2.0
#include "verbs/uverbs_match.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace rdmend::verbs {
namespace {

// More pairs than this in one bucket (thousands of QPs with the same peer QPN in the same state) are not looked at one by one.
constexpr std::size_t kMostPairs = std::size_t{1} << 18;

bool connected_state(std::uint8_t state) { return state >= static_cast<std::uint8_t>(QpState::rtr) && state <= static_cast<std::uint8_t>(QpState::err); }

std::uint32_t forward(std::uint32_t from, std::uint32_t to) { return (to - from) & 0xffffff; }

bool psn_fits(std::optional<std::uint32_t> before, std::optional<std::uint32_t> after, std::uint32_t seen) {
  if (!before) return true;
  const auto most = after ? std::min(forward(*before, *after), kMostForward) : kMostForward;
  return forward(*before, seen) <= most;
}

bool fits(const QpInfo& listed, const QpInfo* later, const wire::QpAttributes& seen) {
  if (listed.port != 0 && listed.port != seen.port) return false;
  return psn_fits(listed.rq_psn, later != nullptr ? later->rq_psn : std::nullopt, seen.rq_psn) &&
         psn_fits(listed.sq_psn, later != nullptr ? later->sq_psn : std::nullopt, seen.sq_psn);
}

// The QPs of one state and peer QPN, both sides, with an edge wherever a listed one and an answer may be the same.
// Vertices: 0 .. L-1 the listed ones, L .. L+A-1 the answers.
class Bucket {
 public:
  std::vector<std::size_t> listed, answered;

  void connect(std::size_t l, std::size_t a) {
    edges_.resize(listed.size() + answered.size());
    edges_[l].push_back(listed.size() + a);
    edges_[listed.size() + a].push_back(l);
  }

  void split(std::vector<MatchGroup>& out) {
    edges_.resize(listed.size() + answered.size());
    gone_.assign(edges_.size(), false);
    for (auto& part : components()) {
      // Peeling rests on every QP's being there on both sides, which equal numbers make likely and unequal ones refute.
      if (balanced(part)) peel(part, out);
      else emit(part, out);
      for (const auto vertex : part) gone_[vertex] = true;
    }
  }

  void emit(const std::vector<std::size_t>& part, std::vector<MatchGroup>& out) const {
    MatchGroup group;
    for (const auto vertex : part)
      if (is_listed(vertex)) group.listed.push_back(listed[vertex]);
      else group.answered.push_back(answered[vertex - listed.size()]);
    if (!group.listed.empty()) out.push_back(std::move(group));
  }

 private:
  [[nodiscard]] bool is_listed(std::size_t vertex) const { return vertex < listed.size(); }
  [[nodiscard]] bool balanced(const std::vector<std::size_t>& part) const {
    const auto count = std::count_if(part.begin(), part.end(), [&](std::size_t v) { return is_listed(v); });
    return static_cast<std::size_t>(count) * 2 == part.size();
  }
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t vertex) const {
    std::vector<std::size_t> live;
    std::copy_if(edges_[vertex].begin(), edges_[vertex].end(), std::back_inserter(live), [&](std::size_t v) { return !gone_[v]; });
    return live;
  }

  // A vertex with one possible partner is that partner's; taking both away may leave others with one. Where a matching is the only
  // one possible, this finds all of it; what is left over is alike.
  void peel(const std::vector<std::size_t>& part, std::vector<MatchGroup>& out) {
    std::vector<std::size_t> queue = part;
    while (!queue.empty()) {
      const auto vertex = queue.back();
      queue.pop_back();
      if (gone_[vertex]) continue;
      const auto partners = neighbours(vertex);
      if (partners.size() != 1) continue;
      emit({std::min(vertex, partners[0]), std::max(vertex, partners[0])}, out);
      gone_[vertex] = gone_[partners[0]] = true;
      for (const auto next : edges_[partners[0]]) queue.push_back(next);
      for (const auto next : edges_[vertex]) queue.push_back(next);
    }
    for (const auto& rest : components(part)) emit(rest, out);
  }

  [[nodiscard]] std::vector<std::vector<std::size_t>> components() const {
    std::vector<std::size_t> all(edges_.size());
    std::iota(all.begin(), all.end(), 0);
    return components(all);
  }
  [[nodiscard]] std::vector<std::vector<std::size_t>> components(const std::vector<std::size_t>& among) const {
    std::vector<std::vector<std::size_t>> parts;
    auto seen = gone_;
    for (const auto start : among) {
      if (seen[start]) continue;
      seen[start] = true;
      std::vector<std::size_t> part{start};
      for (std::size_t i = 0; i < part.size(); ++i)
        for (const auto next : edges_[part[i]])
          if (!seen[next]) {
            seen[next] = true;
            part.push_back(next);
          }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  std::vector<std::vector<std::size_t>> edges_;
  std::vector<bool> gone_;
};

using Key = std::pair<std::uint8_t, std::uint32_t>;  // state, peer's QPN

std::map<Key, Bucket> buckets(std::span<const QpInfo> listed, std::span<const wire::QpAttributes> answered) {
  std::map<Key, Bucket> out;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (connected(listed[i])) out[{listed[i].state, *listed[i].remote_qpn}].listed.push_back(i);
  for (std::size_t i = 0; i < answered.size(); ++i)
    if (const auto at = out.find({answered[i].state, answered[i].dest_qpn}); at != out.end()) at->second.answered.push_back(i);
  return out;
}

}  // namespace

bool connected(const QpInfo& qp) {
  const bool has_peer = qp.type == static_cast<std::uint8_t>(QpType::rc) || qp.type == static_cast<std::uint8_t>(QpType::uc);
  return has_peer && qp.remote_qpn && connected_state(qp.state);
}

std::vector<MatchGroup> match_qps(std::span<const QpInfo> listed, std::span<const QpInfo> later, std::span<const wire::QpAttributes> answered) {
  std::unordered_map<std::uint32_t, const QpInfo*> after;
  for (const auto& qp : later) after[qp.qpn] = &qp;
  std::vector<MatchGroup> groups;
  for (auto& [key, bucket] : buckets(listed, answered)) {
    if (bucket.listed.size() * bucket.answered.size() > kMostPairs) {
      groups.push_back({bucket.listed, bucket.answered});
      continue;
    }
    for (std::size_t l = 0; l < bucket.listed.size(); ++l) {
      const auto& qp = listed[bucket.listed[l]];
      const auto found = after.find(qp.qpn);
      const auto* same = found != after.end() && found->second->remote_qpn == qp.remote_qpn ? found->second : nullptr;
      for (std::size_t a = 0; a < bucket.answered.size(); ++a)
        if (fits(qp, same, answered[bucket.answered[a]])) bucket.connect(l, a);
    }
    bucket.split(groups);
  }
  return groups;
}

}  // namespace rdmend::verbs
