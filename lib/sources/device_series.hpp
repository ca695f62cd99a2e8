// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/sample.hpp"
#include "sources/counter_tracker.hpp"
#include "sources/choice.hpp"
#include "sources/device_reader.hpp"
#include "sources/made_labels.hpp"
#include "sources/netdev_reader.hpp"
#include "sources/normalise.hpp"

namespace rdmend::sources {

// Turns readings of one device into samples. It keeps the counters' history and the counts of what went wrong.
class DeviceSeries {
 public:
  explicit DeviceSeries(std::string device);

  struct Scope {
    std::string name;
    std::vector<Sample> samples;
  };
  struct Reset {
    std::string port;
    std::vector<std::string> counters;
  };
  struct Made {
    std::vector<Scope> scopes;
    std::vector<std::string> gone;  // scopes of ports that the device has no more
    std::vector<Reset> resets;
  };
  Made take(const DeviceReading& reading);
  // What the ports' network devices count; of ports that have not been read yet, nothing.
  Made take(const std::vector<NetdevReading>& readings);
  void rename(std::string device) { device_ = std::move(device); }
  // The name was another device's: see CounterTracker.
  void begin_at_zero();
  // Which raw counters are told, by the driver's name; null: all.
  void choose_raw(std::shared_ptr<const Choice> choice);
  // The scope of one port's attributes alone, from a reading of that port.
  Scope attributes(const PortReading& reading);
  void count_error(const std::string& port, const std::string& name, int error);
  // rdma_device_stale, rdma_device_info, rdma_read_errors_total, rdma_counters_resets_total, rdma_raw_series_dropped.
  std::vector<Sample> honesty(bool stale);

  [[nodiscard]] const Identity& identity() const { return identity_; }

  static constexpr std::size_t kMostErrors = 4096;  // series of read errors

 private:
  struct Port {
    CounterTracker counters;
    std::optional<Normaliser> normaliser;
    std::string link_layer;
    std::uint64_t resets = 0;
    std::array<std::size_t, kCounterSets> dropped{};  // raw series left out
    std::array<MadeLabels, kCounterSets> labels;
    MadeLabels attribute_labels;
  };
  struct Set {
    CounterSet set;
    std::string_view scope, source;
  };
  struct ErrorKey {
    std::string port, name;
    int error;
    auto operator<=>(const ErrorKey&) const = default;  // NOLINT(modernize-use-nullptr): a false one of clang-tidy 14
  };
  void adopt(const Identity& identity, Made& made);
  void take_port(const PortReading& reading, Made& made);
  void take_device(const CounterReading& reading, Made& made);
  Port& port_of(const std::string& port);
  void tell(Port& state, const std::string& port, const Set& set, Made& made);
  bool is_told(const std::string& name);
  void ingest(Port& into, const std::string& port, CounterSet set, const CounterReading& reading, Made& made);
  const Labels& info();
  void add_raw(Port& from, const std::string& port, const Set& set, std::vector<Sample>& into);
  void add_signals(Port& from, const std::string& port, CounterSet set, std::vector<Sample>& into);

  std::string device_;
  Identity identity_;
  std::map<std::string, Port> ports_;  // "" is the device itself
  std::map<ErrorKey, std::uint64_t> errors_;
  MadeLabels honesty_labels_;
  bool from_zero_ = false;
  std::shared_ptr<const Choice> raw_;
  std::map<std::string, bool> told_;  // what `raw_` said of each name
};

}  // namespace rdmend::sources
