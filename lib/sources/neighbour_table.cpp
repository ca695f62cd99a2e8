// SPDX-License-Identifier: Apache-2.0
#include "sources/neighbour_table.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

namespace rdmend::sources {
namespace {

constexpr std::size_t kMostCountedPorts = 1024;  // whose failures are counted, those that have gone included

bool leads_somewhere(const QpInfo& qp) {
  return !qp.peer.empty() && qp.state >= static_cast<std::uint8_t>(QpState::rtr) && qp.state <= static_cast<std::uint8_t>(QpState::sqe);
}

bool has_failed(const Neighbour& entry) { return entry.state == static_cast<std::uint16_t>(NeighbourState::failed); }

}  // namespace

std::size_t NeighbourTable::qps_to(const NeighbourPort& port, const std::string& address) const {
  const auto device = peers_.find(port.device);
  if (device == peers_.end()) return 0;
  const auto known = device->second.find({port.port, address});
  return known == device->second.end() ? 0 : known->second;
}

void NeighbourTable::turn(const Neighbour& entry, const std::string& kind, const std::string& what, std::vector<Turn>& turns) const {
  const auto on = interfaces_.find(entry.interface_index);
  if (on == interfaces_.end()) return;
  for (const auto& one : on->second) {
    PortNeighbour who{one.of.device, one.of.port, one.netdev, entry, qps_to(one.of, entry.address)};
    auto detail = fmt::format("{} on {}, to which {} queue pair{} lead{}: {}", entry.address, one.netdev, who.qps, who.qps == 1 ? "" : "s", who.qps == 1 ? "s" : "", what);
    turns.push_back({std::move(who), kind, std::move(detail)});
  }
}

void NeighbourTable::change(Entry& entry, const Neighbour& now, std::vector<Turn>& turns) {
  const auto before = std::exchange(entry.now, now);
  relief_ = relief_ || (before.state != 0 && !neighbour_resolved(before.state) && neighbour_resolved(now.state));
  if (has_failed(now) && !has_failed(before)) {
    if (const auto on = interfaces_.find(now.interface_index); on != interfaces_.end())
      for (const auto& one : on->second)
        if (failures_.size() < kMostCountedPorts || failures_.contains({one.of.device, one.of.port})) ++failures_[{one.of.device, one.of.port}];
    turn(now, "neighbour_failed", "nobody answers for it", turns);
  }
  if (now.link_address.empty()) return;
  const auto known = std::exchange(entry.last_link, now.link_address);
  if (!known.empty() && known != now.link_address) {
    ++entry.moves;
    turn(now, "neighbour_moved", fmt::format("it was {}, it is {}", known, now.link_address), turns);
  } else if (has_failed(before) || (before.state == static_cast<std::uint16_t>(NeighbourState::incomplete) && !known.empty())) {
    turn(now, "neighbour_resolved", "it is " + now.link_address, turns);
  }
}

std::vector<NeighbourTable::Turn> NeighbourTable::replace(NeighbourReading reading, const std::vector<rtneigh::Change>& meanwhile) {
  std::vector<Turn> turns;
  std::map<Key, const rtneigh::Change*> newer;
  for (const auto& changed : meanwhile) newer[{changed.entry.interface_index, changed.entry.address}] = &changed;
  std::erase_if(reading.entries, [&](const Neighbour& read) { return newer.contains({read.interface_index, read.address}); });
  for (const auto& [key, changed] : newer)
    if (!changed->gone) reading.entries.push_back(changed->entry);
  interfaces_.clear();
  for (auto& one : reading.interfaces) {
    if (failures_.size() < kMostCountedPorts) failures_.try_emplace({one.of.device, one.of.port}, 0);
    interfaces_[one.index].push_back(std::move(one));
  }
  truncated_ = reading.truncated;
  auto before = std::exchange(entries_, {});
  for (auto& now : reading.entries) {
    const Key key{now.interface_index, now.address};
    if (!watches(key.first)) continue;
    auto known = before.extract(key);
    if (!known && entries_.size() >= kMostNeighbours) {
      truncated_ = true;
      continue;
    }
    auto& entry = known ? entries_.insert(std::move(known)).position->second : entries_[key];
    change(entry, now, turns);
  }
  return turns;
}

std::vector<NeighbourTable::Turn> NeighbourTable::apply(const rtneigh::Change& changed) {
  std::vector<Turn> turns;
  const Key key{changed.entry.interface_index, changed.entry.address};
  if (!watches(key.first)) return turns;
  if (changed.gone) {
    const auto known = entries_.find(key);
    if (known == entries_.end()) return turns;
    relief_ = relief_ || !neighbour_resolved(known->second.now.state);
    entries_.erase(known);
  } else if (entries_.size() < kMostNeighbours || entries_.contains(key)) {
    change(entries_[key], changed.entry, turns);
  } else {
    truncated_ = true;
  }
  return turns;
}

void NeighbourTable::take(const QpDump& dump) {
  auto& peers = peers_[dump.device];
  peers.clear();
  for (const auto& qp : dump.qps)
    if (leads_somewhere(qp)) ++peers[{std::to_string(qp.port), neighbour_address(qp.peer)}];
}

void NeighbourTable::forget(const std::string& device) {
  peers_.erase(device);
  for (auto& [index, ports] : interfaces_) std::erase_if(ports, [&](const NeighbourInterface& one) { return one.of.device == device; });
  std::erase_if(interfaces_, [](const auto& interface) { return interface.second.empty(); });
  std::erase_if(entries_, [&](const auto& entry) { return !watches(entry.first.first); });
}

NeighbourTable::Scope NeighbourTable::scope_of(const PortKey& port) const {
  const auto& device = port.first;
  const auto& number = port.second;
  Scope scope{scopes_of(device) + number, {}};
  const auto add = [&](const char* metric, std::vector<Labels::Pair> labels, double value) {
    labels.insert(labels.end(), {{std::string(kMetricName), metric}, {"device", device}, {"port", number}});
    scope.samples.push_back({Labels(std::move(labels)), value});
  };
  std::map<std::uint16_t, std::size_t> by_state;
  using enum NeighbourState;
  for (const auto state : {incomplete, reachable, stale, delay, probe, failed, permanent}) by_state[static_cast<std::uint16_t>(state)] = 0;
  for (const auto& [key, entry] : entries_) {
    for (const auto& on : interfaces_.at(key.first)) {
      if (on.of.device != device || on.of.port != number) continue;
      ++by_state[entry.now.state];
      const std::vector<Labels::Pair> who{{"netdev", on.netdev}, {"neighbour", key.second}};
      add("rdma_neighbour_state", who, static_cast<double>(entry.now.state));
      add("rdma_neighbour_queue_pairs", who, static_cast<double>(qps_to(on.of, key.second)));
      add("rdma_neighbour_moves_total", who, static_cast<double>(entry.moves));
    }
  }
  for (const auto& [state, count] : by_state) add("rdma_neighbours", {{"state", neighbour_state_name(state)}}, static_cast<double>(count));
  const auto failures = failures_.find(port);
  add("rdma_neighbour_failures_total", {}, failures == failures_.end() ? 0.0 : static_cast<double>(failures->second));
  add("rdma_neighbours_truncated", {}, truncated_ ? 1.0 : 0.0);
  return scope;
}

std::vector<NeighbourTable::Scope> NeighbourTable::scopes() const {
  std::set<PortKey> ports;
  for (const auto& [index, all] : interfaces_)
    for (const auto& one : all) ports.insert({one.of.device, one.of.port});
  std::vector<Scope> out;
  out.reserve(ports.size());
  for (const auto& port : ports) out.push_back(scope_of(port));
  return out;
}

std::vector<PortNeighbour> NeighbourTable::of(const std::string& device, const std::string& port) const {
  std::vector<PortNeighbour> out;
  for (const auto& [key, entry] : entries_)
    for (const auto& on : interfaces_.at(key.first))
      if (on.of.device == device && on.of.port == port) out.push_back({device, port, on.netdev, entry.now, qps_to(on.of, key.second)});
  return out;
}

}  // namespace rdmend::sources
