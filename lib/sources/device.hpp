// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.hpp"
#include "base/reactor.hpp"
#include "base/worker.hpp"
#include "sources/device_reader.hpp"
#include "sources/device_series.hpp"
#include "sources/host.hpp"
#include "sources/memory.hpp"
#include "sources/netdev_reader.hpp"
#include "sources/qp_states.hpp"
#include "sources/verbs_events.hpp"

namespace rdmend::sources {

// One RDMA device, on the loop: when it is read, by which worker, and what becomes of it when the answer is late.
// Three workers read, so that neither a dump of 10,000 QPs nor a network configuration that somebody holds locked holds up the
// counters.
class Device {
 public:
  Device(Reactor& reactor, const Options& options, const Sinks& sinks, Memory& memory, FoundDevice found);

  // Once an interval: reads what is due, and tells the events' counts.
  void tick();
  void request_dump();
  void reconfigure(const Options& options);
  // Its uverbs device has gone or come.
  void uverbs_removed(const std::string& name) { events_.uverbs_removed(name); }
  void uverbs_added() { events_.uverbs_added(); }
  // The device has gone: every series of it ends. `closed` runs once nothing of it is open any more.
  void end(std::function<void()> closed);

  [[nodiscard]] const FoundDevice& found() const { return found_; }
  [[nodiscard]] DeviceStatus status() const;
  [[nodiscard]] const std::vector<PortNetdev>& netdevs() const { return netdevs_; }
  [[nodiscard]] const std::optional<QpDump>& latest_dump() const { return latest_dump_; }

  static constexpr auto kRelook = std::chrono::minutes{1};       // at its ports and its identity
  static constexpr auto kDumpDeadline = std::chrono::seconds{60};  // a dump takes 0.2 ms a QP on rxe, more with firmware

 private:
  void read_now();
  void read_port_now(const std::string& port);
  void on_reading(DeviceReading reading);
  void on_late();
  void become_stale();
  void meet(const Identity& identity);
  void tell_made(DeviceSeries::Made made);
  void read_netdevs_now();
  void on_netdevs(const std::vector<NetdevReading>& readings);
  void on_netdevs_late();
  void on_events(const std::vector<verbs::AsyncEvent>& events);
  void dump_now();
  void on_dump(QpReading reading);
  void on_dump_late();
  void emit(const std::string& scope, std::vector<Sample> samples, bool urgent = false);
  void end_scope(const std::string& scope);
  void emit_device();
  void complain(const std::string& what);
  void tell(std::string port, std::string kind, std::string detail);

  Reactor& reactor_;
  Options options_;
  const Sinks& sinks_;
  FoundDevice found_;
  Memory& memory_;
  std::string key_;  // who it is, once it is known
  DeviceSeries series_;
  std::set<std::string> scopes_;
  log::Limiter complaints_{std::chrono::minutes{10}};
  bool ended_ = false;  // what a worker still brings is dropped

  std::shared_ptr<DeviceReader> reader_;
  Worker worker_;
  bool reading_ = false;
  bool stale_ = false;
  std::size_t urgent_reads_ = 0;
  Instant next_counters_{}, next_look_{};
  Reactor::Handle deadline_;

  std::shared_ptr<NetdevReader> netdev_reader_;
  std::unique_ptr<Worker> netdev_worker_;
  std::vector<PortNetdev> netdevs_;
  bool reading_netdevs_ = false;
  Instant next_netdevs_{};
  Reactor::Handle netdev_deadline_;

  std::shared_ptr<QpReader> qp_reader_;
  std::unique_ptr<Worker> qp_worker_;
  QpSeries qp_series_;
  bool dumping_ = false;
  Instant next_dump_{};
  std::optional<QpDump> latest_dump_;
  Reactor::Handle dump_deadline_;

  VerbsEvents events_;
};

}  // namespace rdmend::sources
