// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/worker.hpp"
#include "sources/host.hpp"
#include "sources/neighbour_table.hpp"

namespace rdmend::sources {

// The ARP and ND entries on the network devices of RDMA ports: read whole at the start, every counters_interval and when the
// kernel dropped a message, followed by its notifications in between.
class Neighbours {
 public:
  Neighbours(Reactor& reactor, const Options& options, const Sinks& sinks);
  void start();
  void reconfigure(const Options& options);
  // Each interval, with the ports that there are: reads when it is time.
  void tick(std::vector<NeighbourPort> ports);
  // They do not come within the deadline, or not at all.
  [[nodiscard]] bool stale() const { return stale_; }
  void take(const QpDump& dump) { table_.take(dump); }
  // The device has gone: its series end at once.
  void forget(const std::string& device);
  [[nodiscard]] std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const { return table_.of(device, port); }

 private:
  void read_now();
  void on_reading(NeighbourReading reading);
  void on_late();
  void on_change(const rtneigh::Change& change);
  void tell(const std::vector<NeighbourTable::Turn>& turns);
  void emit(bool urgent);
  void end_scopes(const std::set<std::string>& but);
  void complain(const std::string& what);

  Reactor& reactor_;
  const Sinks& sinks_;
  milliseconds interval_, deadline_after_;
  NeighbourTable table_;
  std::shared_ptr<NeighbourReader> reader_;
  std::optional<KernelListener> listener_;
  std::vector<NeighbourPort> ports_;
  std::vector<rtneigh::Change> meanwhile_;  // while a reading is under way: it may be older than they are
  bool reading_ = false, again_ = false, stale_ = false;
  Instant next_{}, next_urgent_{};
  std::set<std::string> scopes_;
  log::Limiter complaints_{std::chrono::minutes{10}};
  Reactor::Handle deadline_, urgent_;
  Worker worker_;
};

}  // namespace rdmend::sources
