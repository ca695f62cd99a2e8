// SPDX-License-Identifier: Apache-2.0
#include "sources/device.hpp"

#include <algorithm>
#include <cerrno>

#include "verbs/event_names.hpp"

namespace rdmend::sources {
namespace {

constexpr std::size_t kMostUrgentReads = 4;  // that wait; an event that comes then is served by one of these

std::vector<std::string> port_numbers(std::uint32_t ports) {
  std::vector<std::string> numbers;
  for (std::uint32_t port = 1; port <= std::min(ports, 256U); ++port) numbers.push_back(std::to_string(port));
  return numbers;
}

std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

}  // namespace

Device::Device(Reactor& reactor, const Options& options, const Sinks& sinks, Memory& memory, FoundDevice found)
    : reactor_(reactor),
      options_(options),
      sinks_(sinks),
      found_(std::move(found)),
      memory_(memory),
      series_(found_.name),
      reader_(std::make_shared<DeviceReader>(options.sysfs, found_, options.live)),
      worker_(reactor, "read " + found_.name),
      qp_series_(found_.name),
      events_(reactor, found_.name, found_.index, port_numbers(found_.ports), [this](const auto& events) { on_events(events); }) {
  if (options.live && found_.index) {
    qp_reader_ = std::make_shared<QpReader>(*found_.index, found_.name, options.proc, options.qp_cap);
    qp_worker_ = std::make_unique<Worker>(reactor, "qps " + found_.name);
  }
  if (options.netdev) {
    netdev_reader_ = std::make_shared<NetdevReader>(options.netdev());
    netdev_worker_ = std::make_unique<Worker>(reactor, "net " + found_.name);
  }
  series_.choose_raw(options.raw);
  if (options.live) events_.start();
  tick();
}

void Device::emit(const std::string& scope, std::vector<Sample> samples, bool urgent) {
  if (ended_) return;
  scopes_.insert(scope);
  sinks_.batch({.scope = scope, .at = reactor_.now().wall, .samples = std::move(samples), .last = false, .urgent = urgent});
}

void Device::end_scope(const std::string& scope) {
  if (scopes_.erase(scope) > 0) sinks_.batch({.scope = scope, .at = reactor_.now().wall, .samples = {}, .last = true});
}

void Device::emit_device() { emit("device/" + found_.name, series_.honesty(stale_)); }

void Device::complain(const std::string& what) {
  const auto suppressed = complaints_.admit(what, reactor_.now().mono);
  if (suppressed >= 0) log::warning("sources", what, {{"device", found_.name}, {"suppressed", std::to_string(suppressed)}});
}

void Device::tell(std::string port, std::string kind, std::string detail) {
  if (ended_) return;
  sinks_.event({.at = reactor_.now().wall, .device = found_.name, .port = std::move(port), .kind = std::move(kind), .detail = std::move(detail)});
}

void Device::tick() {
  read_now();
  if (netdev_worker_ && !reading_netdevs_ && !netdevs_.empty() && reactor_.now().mono >= next_netdevs_) read_netdevs_now();
  if (const auto* counts = events_.counts()) emit("events/" + found_.name, counts->samples());
  if (stale_) emit_device();
  if (qp_worker_ && !dumping_ && reactor_.now().mono >= next_dump_) dump_now();
}

void Device::read_now() {
  if (reading_) return;
  const auto now = reactor_.now().mono;
  const ReadPlan plan{.now = now, .identity = now >= next_look_, .hw = true, .counters = now >= next_counters_};
  reading_ = worker_.submit([this, reader = reader_, plan]() -> std::function<void()> {
    auto reading = std::make_shared<DeviceReading>(reader->read(plan));
    return [this, reading] { on_reading(std::move(*reading)); };
  });
  if (!reading_) return;
  if (plan.identity) next_look_ = now + kRelook;
  if (plan.counters) next_counters_ = now + options_.counters_interval;
  deadline_ = reactor_.after(options_.deadline, [this] { on_late(); });
}

void Device::on_late() {
  deadline_.reset();
  complain("device does not answer within the deadline: its series end");
  series_.count_error("", "device", ETIMEDOUT);
  become_stale();
  emit_device();
}

void Device::become_stale() {
  stale_ = true;
  // What comes another way goes on: events, queue pairs, network devices.
  for (const auto& scope : std::set(scopes_))
    for (const auto* own : {"port/", "hw_counters/", "counters/", "netdev/"})
      if (scope.starts_with(own)) end_scope(scope);
}

void Device::on_reading(DeviceReading reading) {
  reading_ = false;
  if (ended_) return;
  // A late answer is taken in, but the device is well only once it answers in time: one that always takes too long stays stale.
  if (deadline_) stale_ = false;
  deadline_.reset();
  if (reading.error != 0) {
    complain("device has no directory in sysfs that can be opened: is sysfs mounted here (paths.sysfs)?");
    become_stale();
  }
  if (reading.identity) meet(*reading.identity);
  tell_made(series_.take(reading));
  if (!reading.ports.empty()) {
    netdevs_.clear();
    for (const auto& port : reading.ports)
      if (!port.netdev.empty()) netdevs_.push_back({port.port, port.netdev});
  }
  emit_device();
}

void Device::tell_made(DeviceSeries::Made made) {
  for (auto& scope : made.scopes) emit(scope.name, std::move(scope.samples));
  for (const auto& scope : made.gone) end_scope(scope);
  for (const auto& reset : made.resets) tell(reset.port, "counter_reset", some_of(reset.counters));
}

// Nothing can be told of a device before it is known which one it is.
void Device::meet(const Identity& identity) {
  const auto key = identity.key();
  if (key.empty() || key == key_) return;
  if (!key_.empty()) {
    // In a tree without a kernel: another device stands where the last one stood.
    become_stale();
    stale_ = false;
    memory_.leave(key_, std::move(series_));
    tell("", "device_replaced", "another node GUID or PCI address");
  }
  key_ = key;
  series_ = memory_.begin(found_.name, key_);
  series_.choose_raw(options_.raw);
}

void Device::read_netdevs_now() {
  next_netdevs_ = reactor_.now().mono + options_.counters_interval;
  reading_netdevs_ = netdev_worker_->submit([this, reader = netdev_reader_, ports = netdevs_, now = reactor_.now().mono]() -> std::function<void()> {
    auto readings = std::make_shared<std::vector<NetdevReading>>(reader->read(ports, now));
    return [this, readings] { on_netdevs(*readings); };
  });
  if (reading_netdevs_) netdev_deadline_ = reactor_.after(options_.deadline, [this] { on_netdevs_late(); });
}

void Device::on_netdevs(const std::vector<NetdevReading>& readings) {
  reading_netdevs_ = false;
  netdev_deadline_.reset();
  if (ended_) return;
  tell_made(series_.take(readings));
}

void Device::on_netdevs_late() {
  series_.count_error("", "ethtool", ETIMEDOUT);
  for (const auto& scope : std::set(scopes_))
    if (scope.starts_with("ethtool/") || scope.starts_with("dcb/")) end_scope(scope);
  complain("the network device does not answer within the deadline: the series of ethtool and DCB end");
}

void Device::on_events(const std::vector<verbs::AsyncEvent>& events) {
  // The count goes out at once, on this wake-up; what the port's state has become is read behind it.
  emit("events/" + found_.name, events_.counts()->samples(), true);
  std::set<std::string> ports;
  for (const auto& event : events) {
    const auto port = event.port == 0 ? std::string() : std::to_string(event.port);
    if (!port.empty()) ports.insert(port);
    const auto name = verbs::event_name(event.type);
    tell(port, std::string(name), name == "unknown" ? "event number " + std::to_string(event.type) : "");
  }
  for (const auto& port : ports) read_port_now(port);
}

void Device::read_port_now(const std::string& port) {
  if (urgent_reads_ >= kMostUrgentReads) return;
  const ReadPlan plan{.now = reactor_.now().mono, .only_port = port};
  const bool taken = worker_.submit([this, reader = reader_, plan]() -> std::function<void()> {
    auto reading = std::make_shared<DeviceReading>(reader->read(plan));
    return [this, reading] {
      --urgent_reads_;
      if (ended_) return;
      for (const auto& read : reading->ports) {
        auto scope = series_.attributes(read);
        emit(scope.name, std::move(scope.samples), true);
      }
    };
  });
  if (taken) ++urgent_reads_;
}

void Device::request_dump() {
  if (qp_worker_ && !dumping_) dump_now();
}

void Device::dump_now() {
  next_dump_ = reactor_.now().mono + options_.qp_interval;
  dumping_ = qp_worker_->submit([this, reader = qp_reader_, cap = options_.qp_cap]() -> std::function<void()> {
    reader->set_cap(cap);
    auto reading = std::make_shared<QpReading>(reader->read());
    return [this, reading] { on_dump(std::move(*reading)); };
  });
  if (dumping_) dump_deadline_ = reactor_.after(kDumpDeadline, [this] { on_dump_late(); });
}

void Device::on_dump_late() {
  series_.count_error("", "qps", ETIMEDOUT);
  end_scope("qps/" + found_.name);
  complain("the list of queue pairs does not come: its series end");
}

void Device::on_dump(QpReading reading) {
  dumping_ = false;
  dump_deadline_.reset();
  if (!ended_ && reading.error != 0) series_.count_error("", "qps", reading.error);
  if (ended_ || reading.error == ENODEV) return;  // on its way out: the uevent says the rest
  const auto now = reactor_.now().wall;
  emit("qps/" + found_.name, qp_series_.step(reading, now, options_.qp_interval));
  latest_dump_ = QpDump{.device = found_.name, .at = now, .qps = std::move(reading.qps), .truncated = reading.truncated};
  sinks_.qps(*latest_dump_);
}

void Device::reconfigure(const Options& options) {
  options_ = options;
  series_.choose_raw(options.raw);
  next_netdevs_ = std::min(next_netdevs_, reactor_.now().mono + options.counters_interval);
  const auto now = reactor_.now().mono;
  next_counters_ = std::min(next_counters_, now + options.counters_interval);
  next_dump_ = std::min(next_dump_, now + options.qp_interval);
}

void Device::end(std::function<void()> closed) {
  for (const auto& scope : std::set(scopes_)) end_scope(scope);
  ended_ = true;
  if (!key_.empty()) memory_.leave(key_, std::move(series_));
  deadline_.reset();
  netdev_deadline_.reset();
  dump_deadline_.reset();
  events_.end(std::move(closed));
}

DeviceStatus Device::status() const {
  const auto& identity = series_.identity();
  DeviceStatus status{.name = found_.name,
                      .driver = std::string(driver_name(identity.driver)),
                      .node_guid = identity.node_guid.empty() ? found_.node_guid : identity.node_guid,
                      .firmware = identity.firmware.empty() ? found_.firmware : identity.firmware,
                      .index = found_.index.value_or(0),
                      .stale = stale_,
                      .ports = identity.ports};
  if (status.ports.empty()) status.ports = port_numbers(found_.ports);
  return status;
}

}  // namespace rdmend::sources
