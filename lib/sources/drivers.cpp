// SPDX-License-Identifier: Apache-2.0
#include "sources/drivers.hpp"

#include <rdma/ib_user_ioctl_verbs.h>

#include <algorithm>
#include <array>
#include <string>

namespace rdmend::sources {
namespace {

struct DriverRow {
  Driver driver;
  std::string_view name;
  std::uint64_t id;  // 0: none
  std::string_view modules;  // of the parent device, each between blanks
  std::string_view only_it_has;  // a counter
};
constexpr std::uint64_t kManaId = 20;  // newer than Debian 12's header
constexpr std::array<DriverRow, 18> kDrivers{{
    {Driver::mlx5, "mlx5", RDMA_DRIVER_MLX5, " mlx5_core ", "rnr_nak_retry_err"},
    {Driver::mlx4, "mlx4", RDMA_DRIVER_MLX4, " mlx4_core ", "sq_num_rnr"},
    {Driver::bnxt_re, "bnxt_re", RDMA_DRIVER_BNXT_RE, " bnxt_en ", "to_retransmits"},
    {Driver::irdma, "irdma", RDMA_DRIVER_IRDMA, " ice i40e idpf irdma ", "cnpHandled"},
    {Driver::rxe, "rxe", RDMA_DRIVER_RXE, "", "completer_retry_err"},
    {Driver::mana, "mana", kManaId, " mana ", "requester_rnr_nak"},
    {Driver::efa, "efa", RDMA_DRIVER_EFA, " efa ", "submitted_cmds"},
    {Driver::hns, "hns", RDMA_DRIVER_HNS, " hns3 hns_roce_hw_v2 ", "tx_cnp_pkt"},
    {Driver::erdma, "erdma", RDMA_DRIVER_ERDMA, " erdma ", "tx_packets_cnt"},
    {Driver::hfi1, "hfi1", RDMA_DRIVER_HFI1, " hfi1 ", "RcTimeOut"},
    {Driver::qib, "qib", RDMA_DRIVER_QIB, " ib_qib ", ""},
    {Driver::cxgb4, "cxgb4", RDMA_DRIVER_CXGB4, " cxgb4 ", "ip4RetransSegs"},
    {Driver::siw, "siw", RDMA_DRIVER_SIW, "", ""},
    {Driver::qedr, "qedr", RDMA_DRIVER_QEDR, " qede ", ""},
    {Driver::ocrdma, "ocrdma", RDMA_DRIVER_OCRDMA, " be2net ", ""},
    {Driver::mthca, "mthca", RDMA_DRIVER_MTHCA, " ib_mthca ", ""},
    {Driver::usnic, "usnic", RDMA_DRIVER_USNIC, " usnic_verbs enic ", ""},
    {Driver::vmw_pvrdma, "vmw_pvrdma", RDMA_DRIVER_VMW_PVRDMA, " vmw_pvrdma ", ""},
}};

template <class Matches>
Driver find(Matches matches) {
  const auto* const row = std::find_if(kDrivers.begin(), kDrivers.end(), matches);
  return row == kDrivers.end() ? Driver::unknown : row->driver;
}

// PMA counters; the data and packet counters that are not here are 64 bit.
struct WidthRow {
  std::string_view name;
  unsigned bits;
};
constexpr std::array<WidthRow, 13> kPmaWidths{{{"symbol_error", 16},
                                               {"link_error_recovery", 8},
                                               {"link_downed", 8},
                                               {"port_rcv_errors", 16},
                                               {"port_rcv_remote_physical_errors", 16},
                                               {"port_rcv_switch_relay_errors", 16},
                                               {"port_xmit_discards", 16},
                                               {"VL15_dropped", 16},
                                               {"port_xmit_constraint_errors", 8},
                                               {"port_rcv_constraint_errors", 8},
                                               {"local_link_integrity_errors", 4},
                                               {"excessive_buffer_overrun_errors", 4},
                                               {"port_xmit_wait", 32}}};

// mlx5's q counters are 32 bit and wrap; its congestion, physical and flow counters are 64 bit.
constexpr std::array<std::string_view, 26> kMlx5QCounters{
    "rx_write_requests",           "rx_read_requests",           "rx_atomic_requests",       "rx_dct_connect",
    "out_of_buffer",               "out_of_sequence",            "duplicate_request",        "rnr_nak_retry_err",
    "packet_seq_err",              "implied_nak_seq_err",        "local_ack_timeout_err",    "resp_local_length_error",
    "resp_cqe_error",              "req_cqe_error",              "req_remote_invalid_request", "req_remote_access_errors",
    "resp_remote_access_errors",   "resp_cqe_flush_error",       "req_cqe_flush_error",      "req_transport_retries_exceeded",
    "req_rnr_retries_exceeded",    "roce_adp_retrans",           "roce_adp_retrans_to",      "roce_slow_restart",
    "roce_slow_restart_cnps",      "roce_slow_restart_trans"};

}  // namespace

std::string_view source_name(Source source) {
  static constexpr std::array<std::string_view, 6> kNames{"hw_counters", "netlink", "counters", "ethtool", "netdev", "dcb"};
  return kNames[static_cast<std::size_t>(source)];
}

std::string_view driver_name(Driver driver) {
  const auto* const row = std::find_if(kDrivers.begin(), kDrivers.end(), [&](const DriverRow& r) { return r.driver == driver; });
  return row == kDrivers.end() ? std::string_view("unknown") : row->name;
}

Driver driver_of_id(std::uint64_t id) {
  return find([&](const DriverRow& row) { return id != 0 && row.id == id; });
}

Driver driver_of_module(std::string_view module) {
  if (module.empty() || module.find(' ') != std::string_view::npos) return Driver::unknown;
  const auto word = ' ' + std::string(module) + ' ';
  return find([&](const DriverRow& row) { return row.modules.find(word) != std::string_view::npos; });
}

Driver driver_of_counter(std::string_view name) {
  return find([&](const DriverRow& row) { return !name.empty() && row.only_it_has == name; });
}

Width counter_width(Driver driver, Source source, std::string_view name) {
  if (source == Source::counters) {
    const auto* const row = std::find_if(kPmaWidths.begin(), kPmaWidths.end(), [&](const WidthRow& r) { return r.name == name; });
    // The specification lets every PMA counter stick at its largest value.
    return row == kPmaWidths.end() ? Width{} : Width{row->bits, true};
  }
  if (source != Source::hw_counters && source != Source::netlink) return {};
  // mlx4's diagnostic counters are registers of 32 bit, all of them.
  if (driver == Driver::mlx4) return {32, false};
  if (driver == Driver::mlx5 && std::find(kMlx5QCounters.begin(), kMlx5QCounters.end(), name) != kMlx5QCounters.end()) return {32, false};
  return {};
}

bool is_gauge(Driver driver, std::string_view name) {
  return driver == Driver::bnxt_re && (name.starts_with("active_") || name.starts_with("watermark_") || name == "db_fifo_register");
}

}  // namespace rdmend::sources
