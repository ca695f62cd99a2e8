// SPDX-License-Identifier: Apache-2.0
#include "sources/netdev_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace rdmend::sources {
namespace {

void note(CounterReading& reading, Patience& patience, const char* name, const Error& error, Instant now) {
  patience.failed(error.code, now);
  if (!means_absent(error.code) && !means_gone(error.code)) reading.faults.push_back({name, error.code});
}

bool digit_at(std::string_view name, std::size_t at) { return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0; }

}  // namespace

bool is_of_one_queue(std::string_view name) {
  if (name.ends_with("_phy")) return false;  // "rx_64_bytes_phy" of the physical port
  static constexpr std::array<std::string_view, 9> kMarks{"rx", "tx", "ch", "queue", "queue_", "queue-", "ring_", "rxq", "txq"};
  for (const auto mark : kMarks)
    for (auto at = name.find(mark); at != std::string_view::npos; at = name.find(mark, at + 1)) {
      auto after = at + mark.size();
      if (after < name.size() && (name[after] == '-' || name[after] == '_' || name[after] == '[') && mark != "ch") ++after;
      if (digit_at(name, after)) return true;
    }
  return false;
}

CounterReading NetdevReader::read_ethtool(const std::string& netdev, Known& known, Instant now) {
  CounterReading reading;
  if (!known.ethtool.due(now)) return reading;
  if (known.names.empty() || now >= known.named_until) {
    auto names = calls_->statistics_names(netdev);
    if (!names) {
      note(reading, known.ethtool, "ethtool", names.error(), now);
      return reading;
    }
    known.names = std::move(*names);
    known.named_until = now + kRename;
  }
  const auto values = calls_->statistics(netdev);
  if (!values) {
    note(reading, known.ethtool, "ethtool", values.error(), now);
    return reading;
  }
  known.ethtool.answered();
  if (values->size() != known.names.size()) {
    known.named_until = now;  // queues were added or taken away in between: which value is whose is not known
    return reading;
  }
  for (std::size_t i = 0; i < values->size(); ++i)
    if (!is_of_one_queue(known.names[i])) reading.values.emplace_back(known.names[i], (*values)[i]);
  return reading;
}

CounterReading NetdevReader::read_dcb(const std::string& netdev, Known& known, Instant now) {
  CounterReading reading;
  if (!known.dcb.due(now)) return reading;
  const auto counts = calls_->pfc(netdev);
  if (!counts) {
    note(reading, known.dcb, "dcb", counts.error(), now);
    return reading;
  }
  known.dcb.answered();
  for (std::size_t priority = 0; priority < counts->requests.size(); ++priority) {
    reading.values.emplace_back("pfc_requests_" + std::to_string(priority), counts->requests[priority]);
    reading.values.emplace_back("pfc_indications_" + std::to_string(priority), counts->indications[priority]);
  }
  return reading;
}

std::vector<NetdevReading> NetdevReader::read(const std::vector<PortNetdev>& ports, Instant now) {
  std::erase_if(known_, [&](const auto& known) { return std::none_of(ports.begin(), ports.end(), [&](const auto& port) { return port.netdev == known.first; }); });
  std::vector<NetdevReading> readings;
  for (const auto& [port, netdev] : ports) {
    auto& known = known_[netdev];
    readings.push_back({port, read_ethtool(netdev, known, now), read_dcb(netdev, known, now)});
  }
  return readings;
}

}  // namespace rdmend::sources
