// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/qp.hpp"
#include "model/sample.hpp"
#include "sources/neighbour_reader.hpp"

namespace rdmend::sources {

// The neighbours of the ports as they are, what became of them, and which queue pairs lead to them.
class NeighbourTable {
 public:
  // What became of an entry that rules or people want to know of.
  struct Turn {
    PortNeighbour who;
    std::string kind;    // "neighbour_failed", "neighbour_resolved", "neighbour_moved"
    std::string detail;  // "10.0.0.2 on eth1, which 3 queue pairs lead to: ..."
  };
  struct Scope {
    std::string name;
    std::vector<Sample> samples;
  };

  // A reading takes the place of all that was known; what it tells of an entry that was known counts as a change of it. What
  // the kernel notified `meanwhile` is newer than the reading, or as new.
  std::vector<Turn> replace(NeighbourReading reading, const std::vector<rtneigh::Change>& meanwhile = {});
  std::vector<Turn> apply(const rtneigh::Change& change);
  // Which queue pairs lead where, from a device's latest dump.
  void take(const QpDump& dump);
  // The device has gone, and with it all that was known on its network devices alone.
  void forget(const std::string& device);

  [[nodiscard]] bool watches(std::uint32_t interface_index) const { return interfaces_.contains(interface_index); }
  // One scope a port.
  [[nodiscard]] std::vector<Scope> scopes() const;
  // What the names of a device's scopes begin with; its ports' numbers follow.
  static std::string scopes_of(const std::string& device) { return "neighbours/" + device + '/'; }
  // Whether an entry that was not resolved has come to be, or has gone, since this was last asked.
  bool take_relief() { return std::exchange(relief_, false); }
  // The entries of a port, those that queue pairs lead to and those that do not.
  [[nodiscard]] std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const;

 private:
  struct Entry {
    Neighbour now;
    std::string last_link;  // the last link address that it was known by
    std::uint64_t moves = 0;
  };
  using Key = std::pair<std::uint32_t, std::string>;  // interface, address
  using PortKey = std::pair<std::string, std::string>;  // device, port
  void change(Entry& entry, const Neighbour& now, std::vector<Turn>& turns);
  void turn(const Neighbour& entry, const std::string& kind, const std::string& what, std::vector<Turn>& turns) const;
  [[nodiscard]] std::size_t qps_to(const NeighbourPort& port, const std::string& address) const;
  [[nodiscard]] Scope scope_of(const PortKey& port) const;

  std::map<std::uint32_t, std::vector<NeighbourInterface>> interfaces_;
  std::map<Key, Entry> entries_;
  bool truncated_ = false, relief_ = false;
  std::map<std::string, std::map<PortKey, std::size_t>> peers_;  // device: (port, address): queue pairs
  std::map<PortKey, std::uint64_t> failures_;
};

}  // namespace rdmend::sources
