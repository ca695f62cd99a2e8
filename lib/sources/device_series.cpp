// SPDX-License-Identifier: Apache-2.0
#include "sources/device_series.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"

namespace rdmend::sources {
namespace {

std::string errno_name(int error) {
  const char* const name = strerrorname_np(error);
  return name != nullptr ? name : std::to_string(error);
}

// A driver's own name as a label's value: what is not plain ASCII is escaped, since a label must be valid UTF-8.
std::string label_name(const std::string& raw) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : raw.substr(0, 128)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      out += c;
    else
      (out += "\\x").append({kHex[byte >> 4U], kHex[byte & 15U]});
  }
  return out;
}

std::string scope_name(std::string_view kind, const std::string& device, const std::string& port) {
  return std::string(kind) + '/' + device + (port.empty() ? "" : '/' + port);
}

}  // namespace

DeviceSeries::DeviceSeries(std::string device) : device_(std::move(device)) {}

Labels DeviceSeries::labels(std::string_view metric, const std::string& port) const {
  return Labels{{"__name__", std::string(metric)}, {"device", device_}, {"port", port}};
}

void DeviceSeries::count_error(const std::string& port, const std::string& name, int error) {
  const ErrorKey key{port, label_name(name), error};
  if (errors_.size() < kMostErrors || errors_.contains(key)) ++errors_[key];
}

void DeviceSeries::adopt(const Identity& identity, Made& made) {
  identity_ = identity;
  for (auto port = ports_.begin(); port != ports_.end();) {
    if (port->first.empty() || std::find(identity.ports.begin(), identity.ports.end(), port->first) != identity.ports.end()) {
      ++port;
      continue;
    }
    for (const auto* kind : {"port", "hw_counters", "counters", "netdev"}) made.gone.push_back(scope_name(kind, device_, port->first));
    port = ports_.erase(port);
  }
}

void DeviceSeries::ingest(Port& into, const std::string& port, CounterSet set, const CounterReading& reading, Made& made) {
  for (const auto& fault : reading.faults) count_error(port, fault.name, fault.error);
  into.counters.set_driver(identity_.driver);
  auto resets = into.counters.ingest(set, reading);
  if (resets.empty()) return;
  into.resets += resets.size();
  made.resets.push_back({port, std::move(resets)});
}

void DeviceSeries::add_raw(const Port& from, const std::string& port, CounterSet set, std::string_view source, std::vector<Sample>& into) const {
  for (const auto& [name, counter] : from.counters.of(set)) {
    if (!counter.present) continue;
    const auto shown = label_name(name);
    auto raw = labels(counter.gauge ? "rdma_raw" : "rdma_raw_total", port);
    raw.set("name", shown);
    raw.set("source", source);
    into.push_back({std::move(raw), static_cast<double>(counter.total)});
    if (!counter.width.saturates) continue;
    auto saturated = labels("rdma_counters_saturated", port);
    saturated.set("name", shown);
    into.push_back({std::move(saturated), counter.saturated() ? 1.0 : 0.0});
  }
}

void DeviceSeries::add_signals(Port& from, const std::string& port, CounterSet set, std::vector<Sample>& into) {
  if (!from.normaliser) from.normaliser.emplace(identity_.driver, from.link_layer == "InfiniBand");
  for (const auto& signal : from.normaliser->of(set, from.counters)) {
    // What a port says is not said for the device once more.
    const auto said = [&](const auto& other) { return !other.first.empty() && other.second.normaliser && other.second.normaliser->has(signal.series); };
    if (port.empty() && std::any_of(ports_.begin(), ports_.end(), said)) continue;
    auto series = labels(signal.series, port);
    series.set("priority", signal.priority);
    into.push_back({std::move(series), signal.value});
  }
}

DeviceSeries::Scope DeviceSeries::attributes(const PortReading& reading) {
  const auto& port = reading.port;
  const auto& attributes = reading.attributes;
  Scope scope{scope_name("port", device_, port), {}};
  const auto add = [&](std::string_view metric, const auto& value) {
    if (value) scope.samples.push_back({labels(metric, port), static_cast<double>(*value)});
  };
  for (const auto& fault : attributes.faults) count_error(port, fault.name, fault.error);
  add("rdma_port_state", attributes.state);
  add("rdma_port_physical_state", attributes.physical_state);
  add("rdma_port_rate_bytes_per_second", attributes.rate);
  add("rdma_port_lid", attributes.lid);
  add("rdma_port_sm_lid", attributes.sm_lid);
  auto info = labels("rdma_port_info", port);
  info.set("link_layer", attributes.link_layer);
  info.set("netdev", reading.netdev);
  info.set("pci", identity_.pci);
  info.set("driver", driver_name(identity_.driver));
  info.set("fw", identity_.firmware);
  info.set("node_guid", identity_.node_guid);
  scope.samples.push_back({std::move(info), 1});
  return scope;
}

void DeviceSeries::take_port(const PortReading& reading, Made& made) {
  const auto& port = reading.port;
  Port& state = ports_[port];
  if (state.link_layer != reading.attributes.link_layer && !reading.attributes.link_layer.empty()) {
    state.link_layer = reading.attributes.link_layer;
    state.normaliser.reset();  // other cells hold on the other link layer
  }
  made.scopes.push_back(attributes(reading));
  // All are taken in before any is told: which counter a series comes from depends on what the port has.
  struct Set {
    CounterSet set;
    const std::optional<CounterReading>& reading;
    std::string_view scope, source;
  };
  const Set sets[] = {{CounterSet::hardware, reading.hw, "hw_counters", source_name(reading.hw_through_netlink ? Source::netlink : Source::hw_counters)},
                      {CounterSet::pma, reading.counters, "counters", source_name(Source::counters)},
                      {CounterSet::netdev, reading.carrier, "netdev", source_name(Source::netdev)}};
  for (const auto& set : sets)
    if (set.reading) ingest(state, port, set.set, *set.reading, made);
  for (const auto& set : sets) {
    if (!set.reading || set.reading->skipped) continue;
    Scope scope{scope_name(set.scope, device_, port), {}};
    add_raw(state, port, set.set, set.source, scope.samples);
    add_signals(state, port, set.set, scope.samples);
    made.scopes.push_back(std::move(scope));
  }
}

void DeviceSeries::take_device(const CounterReading& reading, Made& made) {
  Port& state = ports_[""];
  ingest(state, "", CounterSet::hardware, reading, made);
  if (reading.skipped) return;
  Scope scope{scope_name("hw_counters", device_, ""), {}};
  add_raw(state, "", CounterSet::hardware, source_name(Source::hw_counters), scope.samples);
  add_signals(state, "", CounterSet::hardware, scope.samples);
  made.scopes.push_back(std::move(scope));
}

DeviceSeries::Made DeviceSeries::take(const DeviceReading& reading) {
  Made made;
  if (reading.error != 0) count_error("", "device", reading.error);
  if (reading.identity) adopt(*reading.identity, made);
  for (const auto& port : reading.ports) take_port(port, made);
  if (reading.hw) take_device(*reading.hw, made);
  return made;
}

Labels DeviceSeries::info() const {
  auto info = labels("rdma_device_info", "");
  info.set("pci", identity_.pci);
  info.set("driver", driver_name(identity_.driver));
  info.set("fw", identity_.firmware);
  info.set("node_guid", identity_.node_guid);
  info.set("board_id", identity_.board_id);
  info.set("hca_type", identity_.hca_type);
  return info;
}

std::vector<Sample> DeviceSeries::honesty(bool stale) const {
  std::vector<Sample> samples{{labels("rdma_device_stale", ""), stale ? 1.0 : 0.0}};
  if (!stale) samples.push_back({info(), 1});
  for (const auto& [port, state] : ports_) samples.push_back({labels("rdma_counters_resets_total", port), static_cast<double>(state.resets)});
  for (const auto& [key, count] : errors_) {
    auto series = labels("rdma_read_errors_total", key.port);
    series.set("name", key.name);
    series.set("errno", errno_name(key.error));
    samples.push_back({std::move(series), static_cast<double>(count)});
  }
  return samples;
}

}  // namespace rdmend::sources
