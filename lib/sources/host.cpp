// SPDX-License-Identifier: Apache-2.0
#include "sources/host.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/worker.hpp"
#include "sources/choice.hpp"
#include "sources/device.hpp"
#include "sources/neighbours.hpp"
#include "sources/uevents.hpp"

namespace rdmend::sources {
namespace {

constexpr auto kRescan = std::chrono::seconds{10};  // all there is without uevents; with them, a net below them

}  // namespace

struct Host::State {
  State(Reactor& r, Options o, Sinks s) : reactor(r), options(std::move(o)), sinks(std::move(s)), choice("device", options.include, options.exclude), finder(std::make_shared<Finder>(options.sysfs, options.live)) {}

  void start() {
    find_worker = std::make_unique<Worker>(reactor, "find devices");
    if (options.live) {
      listen();
      neighbours = std::make_unique<Neighbours>(reactor, options, sinks);
      neighbours->start();
      const auto told = std::exchange(sinks.qps, {});
      sinks.qps = [this, told](const QpDump& dump) {
        neighbours->take(dump);
        told(dump);
      };
    }
    scan();
    set_timers();
  }
  void set_timers() {
    tick = reactor.every(options.interval, [this] {
      for (auto& [name, device] : devices) device->tick();
      if (neighbours) neighbours->tick(ports_with_netdevs());
      emit_sources();
    });
    rescan = reactor.every(kRescan, [this] { scan(); });
  }
  [[nodiscard]] std::vector<NeighbourPort> ports_with_netdevs() const {
    std::vector<NeighbourPort> ports;
    for (const auto& [name, device] : devices)
      for (const auto& port : device->netdevs()) ports.push_back({name, port.port, port.netdev});
    return ports;
  }
  // Whether what is of no one device is well.
  void emit_sources() const {
    Batch batch{.scope = "sources", .at = reactor.now().wall, .samples = {}};
    const auto add = [&](const char* source, bool stale) {
      batch.samples.push_back({Labels({{std::string(kMetricName), "rdma_source_stale"}, {"source", source}}), stale ? 1.0 : 0.0});
    };
    add("devices", scan_stale);
    if (neighbours) add("neighbours", neighbours->stale());
    sinks.batch(std::move(batch));
  }
  void listen() {
    auto opened = listen_for_uevents(reactor, [this](const Uevent& event) { on_uevent(event); }, [this] { scan(); });
    if (opened)
      uevents.emplace(std::move(*opened));
    else
      log::warning("sources", "no uevents: devices that come and go are seen every 10 s", {{"error", opened.error().message}});
  }
  void on_uevent(const Uevent& event);
  void scan();
  void on_found(Findings findings);
  void add(FoundDevice found);
  void remove(const std::string& name);
  void tell(const std::string& device, std::string kind, std::string detail) const {
    sinks.event({.at = reactor.now().wall, .device = device, .port = "", .kind = std::move(kind), .detail = std::move(detail)});
  }
  [[nodiscard]] std::string why_gone() const { return exclusive ? "or moved to another network namespace (rdma system netns exclusive)" : ""; }
  void sweep_up();
  void say_once(const Findings& findings);

  Reactor& reactor;
  Options options;
  Sinks sinks;
  Choice choice;
  std::shared_ptr<Finder> finder;
  std::unique_ptr<Worker> find_worker;
  std::optional<KernelListener> uevents;
  std::unique_ptr<Neighbours> neighbours;
  Memory memory;
  std::map<std::string, std::unique_ptr<Device>> devices;
  std::list<std::unique_ptr<Device>> leaving;  // their contexts are being closed
  std::set<const Device*> closed;              // of these, those that can be destroyed
  Reactor::Handle tick, rescan, sweep, scan_deadline;
  log::Limiter complaints{std::chrono::minutes{10}};
  bool scanning = false, scan_stale = false, scan_again = false, searched = false;
  bool said_none = false, said_exclusive = false, exclusive = false;
};

void Host::State::on_uevent(const Uevent& event) {
  if (event.subsystem == "infiniband_verbs") {
    for (auto& [name, device] : devices) {
      // First of all: whoever deletes the device waits until we have let go of it.
      if (event.action == "remove") device->uverbs_removed(event.name);
      if (event.action == "add") device->uverbs_added();
    }
    return;
  }
  if (event.subsystem != "infiniband") return;
  if (event.action == "remove" && devices.contains(event.name)) {
    remove(event.name);
    tell(event.name, "device_removed", why_gone());
  }
  scan();
}

void Host::State::scan() {
  if (scanning) {
    scan_again = true;  // what is being read may be older than what we were told
    return;
  }
  scan_again = false;
  scan_deadline = reactor.after(options.deadline, [this] {
    scan_deadline.reset();
    scan_stale = true;
    if (complaints.admit("scan", reactor.now().mono) >= 0)
      log::warning("sources", "looking for devices does not end: those that are known go on, no other is found", {{"looking_in", options.sysfs}});
  });
  scanning = find_worker->submit([this, finder = finder]() -> std::function<void()> {
    auto findings = std::make_shared<Findings>(finder->find());
    return [this, findings] {
      scanning = false;
      if (scan_deadline) scan_stale = false;  // one that always takes too long stays stale
      scan_deadline.reset();
      if (scan_again)
        scan();
      else
        on_found(std::move(*findings));
    };
  });
}

void Host::State::say_once(const Findings& findings) {
  if (findings.devices.empty() && !said_none) {
    const auto where = options.sysfs + "/class/infiniband";
    if (findings.error != 0)
      log::warning("sources", "sysfs cannot be opened: no device is seen; is the host's /sys mounted here (paths.sysfs)?",
                   {{"paths.sysfs", options.sysfs}, {"error", std::strerror(findings.error)}});  // NOLINT(concurrency-mt-unsafe)
    else
      log::info("sources", "no RDMA device here yet; one that comes will be watched", {{"looked_in", where}});
  }
  said_none = findings.devices.empty();
  exclusive = findings.shared_netns == false;
  if (exclusive && !said_exclusive) {
    std::string moved;
    for (const auto& device : findings.elsewhere) moved += (moved.empty() ? "" : ", ") + device;
    log::warning("sources", "RDMA devices belong to one network namespace each (rdma system netns exclusive): those moved to another one are not seen from here",
                 {{"moved", moved.empty() ? "none is known" : moved}});
  }
  said_exclusive = exclusive;
}

void Host::State::on_found(Findings findings) {
  searched = true;
  say_once(findings);
  std::erase_if(findings.devices, [&](const FoundDevice& found) { return !choice.wants(found.name); });
  std::vector<std::string> gone;
  std::vector<std::pair<std::string, std::string>> renamed;
  for (const auto& [name, device] : devices) {
    const auto& known = device->found();
    const auto same = [&](const FoundDevice& found) { return found.name == known.name && found.index == known.index; };
    if (std::any_of(findings.devices.begin(), findings.devices.end(), same)) continue;
    const auto moved = std::find_if(findings.devices.begin(), findings.devices.end(), [&](const FoundDevice& found) { return known.index && found.index == known.index; });
    if (moved != findings.devices.end()) renamed.emplace_back(name, moved->name);
    gone.push_back(name);
  }
  for (const auto& name : gone) {
    remove(name);
    const auto to = std::find_if(renamed.begin(), renamed.end(), [&](const auto& pair) { return pair.first == name; });
    if (to == renamed.end())
      tell(name, "device_removed", why_gone());
    else
      tell(to->second, "device_renamed", "was " + name);
  }
  for (auto& found : findings.devices) {
    if (devices.contains(found.name)) continue;
    const bool is_new = std::none_of(renamed.begin(), renamed.end(), [&](const auto& pair) { return pair.second == found.name; });
    const auto name = found.name;
    add(std::move(found));
    if (is_new) tell(name, "device_added", "");
  }
}

void Host::State::add(FoundDevice found) {
  const auto name = found.name;
  log::info("sources", "watching device", {{"device", name}});
  devices.emplace(name, std::make_unique<Device>(reactor, options, sinks, memory, std::move(found)));
}

void Host::State::sweep_up() {
  sweep.reset();
  leaving.remove_if([this](const auto& device) { return closed.contains(device.get()); });
  closed.clear();
}

void Host::State::remove(const std::string& name) {
  const auto known = devices.find(name);
  if (known == devices.end()) return;
  log::info("sources", "device has gone", {{"device", name}});
  if (neighbours) neighbours->forget(name);
  leaving.push_back(std::move(known->second));
  devices.erase(known);
  // Not destroyed before its context is closed: a queue that is dropped closes nothing.
  Device* const device = leaving.back().get();
  device->end([this, device] {
    closed.insert(device);
    if (!sweep) sweep = reactor.after(milliseconds{0}, [this] { sweep_up(); });
  });
}

Host::Host(Reactor& reactor, Options options, Sinks sinks) : state_(std::make_unique<State>(reactor, std::move(options), std::move(sinks))) {}
Host::~Host() = default;

void Host::start() { state_->start(); }

void Host::reconfigure(Options options) {
  // Where it is read from is fixed at the start.
  options.sysfs = state_->options.sysfs;
  options.proc = state_->options.proc;
  options.live = state_->options.live;
  options.netdev = state_->options.netdev;
  state_->options = std::move(options);
  if (state_->neighbours) state_->neighbours->reconfigure(state_->options);
  state_->choice = Choice("device", state_->options.include, state_->options.exclude);
  std::vector<std::string> unwanted;
  for (auto& [name, device] : state_->devices) {
    device->reconfigure(state_->options);
    if (!state_->choice.wants(name)) unwanted.push_back(name);
  }
  for (const auto& name : unwanted) state_->remove(name);
  if (!state_->find_worker) return;
  state_->set_timers();
  state_->scan();
}

void Host::request_qp_dump(const std::string& device) {
  if (const auto known = state_->devices.find(device); known != state_->devices.end()) known->second->request_dump();
}

bool Host::searched() const { return state_->searched; }

std::vector<DeviceStatus> Host::devices() const {
  std::vector<DeviceStatus> all;
  for (const auto& [name, device] : state_->devices) all.push_back(device->status());
  return all;
}

std::vector<QpDump> Host::qps() const {
  std::vector<QpDump> all;
  for (const auto& [name, device] : state_->devices)
    if (const auto& dump = device->latest_dump()) all.push_back(*dump);
  return all;
}

std::vector<PortNeighbour> Host::neighbours(const std::string& device, const std::string& port) const {
  return state_->neighbours ? state_->neighbours->of(device, port) : std::vector<PortNeighbour>{};
}

}  // namespace rdmend::sources
