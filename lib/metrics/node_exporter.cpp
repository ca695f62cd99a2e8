// SPDX-License-Identifier: Apache-2.0
// The names under which node_exporter (1.5 and later) has what sysfs says of InfiniBand ports, so that its dashboards and rules go on
// working. Its counters are those of ports/N/counters, and as there the data counters count words of four bytes.
#include "metrics/node_exporter.hpp"

#include <unordered_map>

namespace rdmend::metrics {
namespace {

constexpr std::string_view kInfo = "node_infiniband_info";

constexpr NodeExporterRow port_row(std::string_view name, std::string_view series, std::string_view help) {
  return {{name, FamilyType::gauge, "device, port", help}, series, {}};
}
constexpr NodeExporterRow counter_row(std::string_view name, std::string_view file, std::string_view help, double scale = 1) {
  return {{name, FamilyType::counter, "device, port", help}, {}, file, scale};
}

constexpr NodeExporterRow kRows[] = {
    {{kInfo, FamilyType::gauge, "board_id, device, firmware_version, hca_type", "Always 1; what the device is. As rdma_device_info."}, "rdma_device_info", {}},
    port_row("node_infiniband_state_id", "rdma_port_state", "As rdma_port_state."),
    port_row("node_infiniband_physical_state_id", "rdma_port_physical_state", "As rdma_port_physical_state."),
    port_row("node_infiniband_rate_bytes_per_second", "rdma_port_rate_bytes_per_second", "As rdma_port_rate_bytes_per_second."),
    counter_row("node_infiniband_port_data_transmitted_bytes_total", "port_xmit_data", "Bytes sent.", 4),
    counter_row("node_infiniband_port_data_received_bytes_total", "port_rcv_data", "Bytes received.", 4),
    counter_row("node_infiniband_port_packets_transmitted_total", "port_xmit_packets", "Packets sent."),
    counter_row("node_infiniband_port_packets_received_total", "port_rcv_packets", "Packets received."),
    counter_row("node_infiniband_unicast_packets_transmitted_total", "unicast_xmit_packets", "Unicast packets sent."),
    counter_row("node_infiniband_unicast_packets_received_total", "unicast_rcv_packets", "Unicast packets received."),
    counter_row("node_infiniband_multicast_packets_transmitted_total", "multicast_xmit_packets", "Multicast packets sent."),
    counter_row("node_infiniband_multicast_packets_received_total", "multicast_rcv_packets", "Multicast packets received."),
    counter_row("node_infiniband_link_downed_total", "link_downed", "Times that the link went down."),
    counter_row("node_infiniband_link_error_recovery_total", "link_error_recovery", "Times that the link recovered from an error by retraining."),
    counter_row("node_infiniband_symbol_error_total", "symbol_error", "Symbol errors on the lanes of the link."),
    counter_row("node_infiniband_local_link_integrity_errors_total", "local_link_integrity_errors", "Times that local errors passed the link's threshold."),
    counter_row("node_infiniband_excessive_buffer_overrun_errors_total", "excessive_buffer_overrun_errors", "Times that receive buffers overran for too long."),
    counter_row("node_infiniband_port_errors_received_total", "port_rcv_errors", "Packets received with an error of the link."),
    counter_row("node_infiniband_port_receive_remote_physical_errors_total", "port_rcv_remote_physical_errors", "Packets received that were marked bad on their way."),
    counter_row("node_infiniband_port_receive_switch_relay_errors_total", "port_rcv_switch_relay_errors", "Packets received that could not be forwarded."),
    counter_row("node_infiniband_port_constraint_errors_received_total", "port_rcv_constraint_errors", "Packets received that the port's partition or version rules refused."),
    counter_row("node_infiniband_port_constraint_errors_transmitted_total", "port_xmit_constraint_errors", "Packets not sent because the port's partition or version rules refused them."),
    counter_row("node_infiniband_port_discards_received_total", "port_rcv_discards", "Packets received and dropped."),
    counter_row("node_infiniband_port_discards_transmitted_total", "port_xmit_discards", "Packets that were to be sent and were dropped."),
    counter_row("node_infiniband_port_transmit_wait_total", "port_xmit_wait", "Ticks in which data was ready and could not be sent."),
    counter_row("node_infiniband_vl15_dropped_total", "VL15_dropped", "Management packets dropped for want of a buffer."),
};

using Places = std::unordered_map<std::string_view, std::size_t>;

Places places_by(std::string_view NodeExporterRow::*what) {
  Places out;
  for (std::size_t row = 0; row < std::size(kRows); ++row)
    if (!(kRows[row].*what).empty()) out[kRows[row].*what] = row;
  return out;
}

}  // namespace

std::span<const NodeExporterRow> node_exporter_rows() { return kRows; }

std::optional<std::size_t> node_exporter_row(const Labels& labels) {
  static const Places by_series = places_by(&NodeExporterRow::series);
  static const Places by_counter = places_by(&NodeExporterRow::counter);
  const auto metric = labels.metric();
  const bool raw = metric == "rdma_raw_total" || metric == "rdma_raw";
  if (raw && labels.get("source") != "counters") return std::nullopt;
  const auto& places = raw ? by_counter : by_series;
  const auto found = places.find(raw ? labels.get("name") : metric);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

Labels node_exporter_labels(const NodeExporterRow& row, const Labels& labels) {
  Labels out;
  out.set("device", labels.get("device"));
  if (row.family.name != kInfo) {
    out.set("port", labels.get("port"));
    return out;
  }
  out.set("board_id", labels.get("board_id"));
  out.set("firmware_version", labels.get("fw"));
  out.set("hca_type", labels.get("hca_type"));
  return out;
}

}  // namespace rdmend::metrics
