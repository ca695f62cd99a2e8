// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sources/host.hpp"
#include "support/virtual_reactor.hpp"

namespace rdmend::test {

// The whole room on a tree that the test builds, in virtual time; the workers are real threads.
// Keeps of each series what the store would keep: its last value, until its scope ends or leaves it out.
template <class SomeTree>
class SiteOf {
 public:
  SiteOf() {
    options.sysfs = tree.path();
    options.proc = tree.path() + "/proc";
    options.live = false;
  }
  ~SiteOf() {
    host.reset();
    if constexpr (requires { tree.release(""); })
      for (const auto& name : hanging) tree.release(name);
  }
  SiteOf(const SiteOf&) = delete;
  SiteOf& operator=(const SiteOf&) = delete;
  void start() {
    host = std::make_unique<sources::Host>(loop, options, sources::Sinks{[this](Batch batch) { take(batch); }, [this](Event event) { events.push_back(std::move(event)); }, [](QpDump) {}});
    host->start();
  }
  void device(const std::string& name, const char* layer = "Ethernet") {
    const auto at = "class/infiniband/" + name + "/";
    tree.file(at + "fw_ver", "1.2");
    tree.file(at + "node_guid", guid(name));
    tree.file(at + "ports/1/state", "4: ACTIVE");
    tree.file(at + "ports/1/phys_state", "5: LinkUp");
    tree.file(at + "ports/1/rate", "100 Gb/sec (4X EDR)");
    tree.file(at + "ports/1/link_layer", layer);
  }
  // One a device, from its name.
  static std::string guid(const std::string& name) {
    char text[32];
    std::snprintf(text, sizeof text, "0000:0000:0000:%04zx", std::hash<std::string>{}(name) & 0xffffU);
    return text;
  }
  void hang(const std::string& name) {
    tree.remove(name);
    tree.hanging(name);
    hanging.push_back(name);
  }
  [[nodiscard]] std::optional<double> value(const std::string& series) const {
    const auto known = values.find(series);
    return known == values.end() ? std::nullopt : std::optional(known->second);
  }
  bool await(const std::string& series, double wanted) {
    return loop.run_until([&] { return value(series) == wanted; });
  }
  bool await_device(const std::string& name) {
    return loop.run_until([&] { return value("rdma_port_state{device=\"" + name + "\",port=\"1\"}").has_value(); });
  }
  // Moves time on and waits for one more reading of each of these devices.
  bool tick(const std::vector<std::string>& devices, milliseconds by = seconds{1}) {
    const auto before = readings;
    loop.advance(by);
    const auto read = [&](const std::string& name) { return readings[name] > (before.contains(name) ? before.at(name) : 0); };
    return loop.run_until([&] { return std::all_of(devices.begin(), devices.end(), read); });
  }
  [[nodiscard]] std::size_t count(const std::string& kind) const {
    return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.kind == kind; }));
  }

  SomeTree tree;
  VirtualReactor loop;
  sources::Options options;
  std::map<std::string, double> values;
  std::vector<Event> events;
  std::vector<std::string> hanging;
  std::map<std::string, int> readings;  // of each device
  std::unique_ptr<sources::Host> host;

 private:
  void take(const Batch& batch) {
    if (batch.scope.starts_with("device/") && !batch.last) ++readings[batch.scope.substr(7)];
    std::set<std::string> now;
    for (const auto& sample : batch.samples) {
      const auto name = sample.labels.text();
      values[name] = sample.value;
      CHECK(now.insert(name).second);
    }
    for (const auto& name : scopes_[batch.scope])
      if (!now.contains(name)) values.erase(name);
    scopes_[batch.scope] = std::move(now);
  }
  std::map<std::string, std::set<std::string>> scopes_;
};

}  // namespace rdmend::test
