// SPDX-License-Identifier: Apache-2.0
#include "sources/device_series.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/text.hpp"

namespace rdmend::sources {
namespace {

std::string errno_name(int error) {
  const char* const name = strerrorname_np(error);
  return name != nullptr ? name : std::to_string(error);
}

// A driver's own name as a label's value: what is not plain ASCII is escaped, since a label must be valid UTF-8, and so is the escape's
// own character: no two names may become one series. A file's name is bounded, so this is.
std::string label_name(const std::string& raw) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\')
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
    for (const auto* kind : {"port", "hw_counters", "counters", "netdev", "ethtool", "dcb"}) made.gone.push_back(scope_name(kind, device_, port->first));
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

void DeviceSeries::choose_raw(std::shared_ptr<const Choice> choice) {
  raw_ = choice && !choice->all() ? std::move(choice) : nullptr;
  told_.clear();
}

bool DeviceSeries::is_told(const std::string& name) {
  if (!raw_) return true;
  const auto known = told_.find(name);
  return known != told_.end() ? known->second : told_.emplace(name, raw_->wants(name)).first->second;
}

void DeviceSeries::add_raw(Port& from, const std::string& port, const Set& set, std::vector<Sample>& into) {
  auto& dropped = from.dropped[static_cast<std::size_t>(set.set)];
  dropped = from.counters.overflow(set.set);
  auto& labels = from.labels[static_cast<std::size_t>(set.set)];
  for (const auto& [name, counter] : from.counters.of(set.set)) {
    if (!counter.present) continue;
    const auto shown = label_name(name);
    if (counter.width.saturates)
      into.push_back({labels.next({{kMetricName, "rdma_counters_saturated"}, {"device", device_}, {"name", shown}, {"port", port}}), counter.saturated() ? 1.0 : 0.0});
    if (!is_told(name)) {
      ++dropped;
      continue;
    }
    const auto* metric = counter.gauge ? "rdma_raw" : "rdma_raw_total";
    into.push_back({labels.next({{kMetricName, metric}, {"device", device_}, {"name", shown}, {"port", port}, {"source", set.source}}), static_cast<double>(counter.total)});
  }
}

void DeviceSeries::add_signals(Port& from, const std::string& port, CounterSet set, std::vector<Sample>& into) {
  if (!from.normaliser) from.normaliser.emplace(identity_.driver, from.link_layer == "InfiniBand");
  for (const auto& signal : from.normaliser->of(set, from.counters)) {
    // What a port says is not said for the device once more.
    const auto said = [&](const auto& other) { return !other.first.empty() && other.second.normaliser && other.second.normaliser->has(signal.series); };
    if (port.empty() && std::any_of(ports_.begin(), ports_.end(), said)) continue;
    auto& labels = from.labels[static_cast<std::size_t>(set)];
    into.push_back({labels.next({{kMetricName, signal.series}, {"device", device_}, {"port", port}, {"priority", signal.priority}}), signal.value});
  }
}

DeviceSeries::Scope DeviceSeries::attributes(const PortReading& reading) {
  const auto& port = reading.port;
  const auto& attributes = reading.attributes;
  Scope scope{scope_name("port", device_, port), {}};
  auto& labels = port_of(port).attribute_labels;
  labels.rewind();
  const auto add = [&](std::string_view metric, const auto& value) {
    if (value) scope.samples.push_back({labels.next({{kMetricName, metric}, {"device", device_}, {"port", port}}), static_cast<double>(*value)});
  };
  for (const auto& fault : attributes.faults) count_error(port, fault.name, fault.error);
  add("rdma_port_state", attributes.state);
  add("rdma_port_physical_state", attributes.physical_state);
  add("rdma_port_rate_bytes_per_second", attributes.rate);
  add("rdma_port_lid", attributes.lid);
  add("rdma_port_sm_lid", attributes.sm_lid);
  scope.samples.push_back({labels.next({{kMetricName, "rdma_port_info"},
                                        {"device", device_},
                                        {"driver", driver_name(identity_.driver)},
                                        {"function", identity_.function},
                                        {"fw", identity_.firmware},
                                        {"link_layer", attributes.link_layer},
                                        {"netdev", reading.netdev},
                                        {"node_guid", identity_.node_guid},
                                        {"pci", identity_.pci},
                                        {"port", port}}),
                           1});
  return scope;
}

DeviceSeries::Port& DeviceSeries::port_of(const std::string& port) {
  const auto [entry, made] = ports_.try_emplace(port);
  if (made && from_zero_) entry->second.counters.begin_at_zero();
  return entry->second;
}

void DeviceSeries::begin_at_zero() {
  from_zero_ = true;
  for (auto& [name, port] : ports_) {
    port.counters.begin_at_zero();
    port.normaliser.reset();
  }
}

void DeviceSeries::tell(Port& state, const std::string& port, const Set& set, Made& made) {
  Scope scope{scope_name(set.scope, device_, port), {}};
  state.labels[static_cast<std::size_t>(set.set)].rewind();
  add_raw(state, port, set, scope.samples);
  add_signals(state, port, set.set, scope.samples);
  made.scopes.push_back(std::move(scope));
}

void DeviceSeries::take_port(const PortReading& reading, Made& made) {
  const auto& port = reading.port;
  Port& state = port_of(port);
  if (state.link_layer != reading.attributes.link_layer && !reading.attributes.link_layer.empty()) {
    state.link_layer = reading.attributes.link_layer;
    state.normaliser.reset();  // other cells hold on the other link layer
  }
  made.scopes.push_back(attributes(reading));
  // All are taken in before any is told: which counter a series comes from depends on what the port has.
  const auto hardware = source_name(reading.hw_through_netlink ? Source::netlink : Source::hw_counters);
  const std::pair<Set, const std::optional<CounterReading>&> sets[] = {{{CounterSet::hardware, "hw_counters", hardware}, reading.hw},
                                                                       {{CounterSet::pma, "counters", source_name(Source::counters)}, reading.counters},
                                                                       {{CounterSet::netdev, "netdev", source_name(Source::netdev)}, reading.carrier}};
  for (const auto& [set, read] : sets)
    if (read) ingest(state, port, set.set, *read, made);
  for (const auto& [set, read] : sets)
    if (read && !read->skipped) tell(state, port, set, made);
}

void DeviceSeries::take_device(const CounterReading& reading, Made& made) {
  Port& state = port_of("");
  ingest(state, "", CounterSet::hardware, reading, made);
  if (!reading.skipped) tell(state, "", {CounterSet::hardware, "hw_counters", source_name(Source::hw_counters)}, made);
}

DeviceSeries::Made DeviceSeries::take(const std::vector<NetdevReading>& readings) {
  Made made;
  for (const auto& reading : readings) {
    const auto state = ports_.find(reading.port);
    if (state == ports_.end()) continue;
    const std::pair<Set, const CounterReading&> sets[] = {{{CounterSet::ethtool, "ethtool", source_name(Source::ethtool)}, reading.ethtool},
                                                          {{CounterSet::dcb, "dcb", source_name(Source::dcb)}, reading.dcb}};
    for (const auto& [set, read] : sets) ingest(state->second, reading.port, set.set, read, made);
    for (const auto& [set, read] : sets) tell(state->second, reading.port, set, made);
  }
  return made;
}

DeviceSeries::Made DeviceSeries::take(const DeviceReading& reading) {
  Made made;
  if (reading.error != 0) count_error("", "device", reading.error);
  if (reading.identity) adopt(*reading.identity, made);
  for (const auto& port : reading.ports) take_port(port, made);
  if (reading.hw) take_device(*reading.hw, made);
  return made;
}

const Labels& DeviceSeries::info() {
  return honesty_labels_.next({{kMetricName, "rdma_device_info"},
                               {"board_id", identity_.board_id},
                               {"device", device_},
                               {"driver", driver_name(identity_.driver)},
                               {"fw", identity_.firmware},
                               {"hca_type", identity_.hca_type},
                               {"node_guid", identity_.node_guid},
                               {"pci", identity_.pci}});
}

std::vector<Sample> DeviceSeries::honesty(bool stale) {
  std::vector<Sample> samples;
  auto& labels = honesty_labels_;
  labels.rewind();
  samples.push_back({labels.next({{kMetricName, "rdma_device_stale"}, {"device", device_}}), stale ? 1.0 : 0.0});
  if (!stale) samples.push_back({info(), 1});
  for (const auto& [port, state] : ports_) {
    samples.push_back({labels.next({{kMetricName, "rdma_counters_resets_total"}, {"device", device_}, {"port", port}}), static_cast<double>(state.resets)});
    const auto dropped = std::accumulate(state.dropped.begin(), state.dropped.end(), std::size_t{0});
    samples.push_back({labels.next({{kMetricName, "rdma_raw_series_dropped"}, {"device", device_}, {"port", port}}), static_cast<double>(dropped)});
  }
  for (const auto& [key, count] : errors_)
    samples.push_back({labels.next({{kMetricName, "rdma_read_errors_total"}, {"device", device_}, {"errno", errno_name(key.error)}, {"name", key.name}, {"port", key.port}}),
                       static_cast<double>(count)});
  return samples;
}

}  // namespace rdmend::sources
