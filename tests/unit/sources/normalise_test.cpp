// SPDX-License-Identifier: Apache-2.0
#include "sources/normalise.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "metrics/exposition.hpp"
#include "sources/signal_table.hpp"

using namespace rdmend;
using namespace rdmend::sources;

namespace {

// A port of one driver: what it reads, and the signals that come of it.
struct Port {
  explicit Port(Driver driver, bool infiniband = false) : normaliser(driver, infiniband) { counters.set_driver(driver); }
  void read(CounterSet set, std::vector<std::pair<std::string, std::uint64_t>> values, std::vector<ReadFault> faults = {}) {
    CounterReading reading;
    reading.values = std::move(values);
    reading.faults = std::move(faults);
    counters.ingest(set, reading);
    for (std::erase_if(last, [&](const auto& entry) { return entry.second.first == set; }); auto& signal : normaliser.of(set, counters))
      last[std::string(signal.series) + (signal.priority.empty() ? "" : "/" + signal.priority)] = {set, signal.value};
  }
  [[nodiscard]] std::optional<double> value(const std::string& series) const {
    const auto known = last.find(series);
    return known == last.end() ? std::nullopt : std::optional(known->second.second);
  }
  CounterTracker counters;
  Normaliser normaliser;
  std::map<std::string, std::pair<CounterSet, double>> last;
};

}  // namespace

TEST_CASE("every cell of the signal table can be read, and every series of it is one that is exported") {
  std::set<std::string_view> families;
  for (const auto& row : metrics::families()) families.insert(row.name);
  std::set<std::pair<std::string_view, Driver>> cells;
  for (const auto& row : signal_table()) {
    CAPTURE(row.series, row.cell);
    CHECK(families.contains(row.series));
    CHECK(cells.emplace(row.series, row.driver).second);  // one cell each
    std::string_view rest = row.cell;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(" | "), rest.find(" + "));
      const auto term = rest.substr(0, end);
      REQUIRE(term.size() > 2);
      CHECK(std::string_view("cihend").find(term[0]) != std::string_view::npos);
      CHECK(term[1] == ':');
      CHECK(term.back() != ' ');
      rest = end == std::string_view::npos ? "" : rest.substr(end + 3);
    }
  }
}

TEST_CASE("B5: words become bytes") {
  Port port(Driver::mlx5);
  port.read(CounterSet::pma, {{"port_xmit_data", 1000}, {"port_rcv_data", 250}, {"port_xmit_packets", 9}});
  CHECK(port.value("rdma_bytes_sent_total") == 4000);
  CHECK(port.value("rdma_bytes_received_total") == 1000);
  CHECK(port.value("rdma_packets_sent_total") == 9);
}

TEST_CASE("B6: RNR NAKs are told apart by who sends them; exhaustion is something else") {
  Port port(Driver::mlx5);
  port.read(CounterSet::hardware, {{"rnr_nak_retry_err", 5}, {"out_of_buffer", 3}, {"req_rnr_retries_exceeded", 1}});
  CHECK(port.value("rdma_rnr_naks_received_total") == 5);
  CHECK(port.value("rdma_rnr_naks_sent_total") == 3);
  CHECK(port.value("rdma_rnr_retry_exceeded_total") == 1);
}

TEST_CASE("retransmissions are the sum of their causes, of those that the device has") {
  Port port(Driver::mlx5);
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 5}, {"packet_seq_err", 30}, {"implied_nak_seq_err", 200}, {"roce_adp_retrans", 7}});
  CHECK(port.value("rdma_retransmissions_total") == 235);
  Port old(Driver::mlx4);
  old.read(CounterSet::hardware, {{"sq_num_oos", 4}});
  CHECK(old.value("rdma_retransmissions_total") == 4);
}

TEST_CASE("Soft-RoCE has its names, and no series that it cannot fill") {
  Port port(Driver::rxe);
  port.read(CounterSet::hardware, {{"sent_pkts", 10}, {"rcvd_pkts", 20}, {"send_rnr_err", 3}, {"rcvd_rnr_err", 4}, {"completer_retry_err", 5}, {"link_downed", 1},
                                   {"retry_exceeded_err", 2}, {"duplicate_request", 6}, {"out_of_seq_request", 7}});
  CHECK(port.value("rdma_packets_sent_total") == 10);
  CHECK(port.value("rdma_packets_received_total") == 20);
  CHECK(port.value("rdma_rnr_naks_sent_total") == 3);
  CHECK(port.value("rdma_rnr_naks_received_total") == 4);
  CHECK(port.value("rdma_retransmissions_total") == 5);
  CHECK(port.value("rdma_link_downed_total") == 1);
  CHECK(port.value("rdma_retry_exceeded_total") == 2);
  CHECK(port.value("rdma_duplicate_requests_received_total") == 6);
  CHECK(port.value("rdma_out_of_sequence_received_total") == 7);
  CHECK_FALSE(port.value("rdma_ack_timeouts_total"));
  CHECK_FALSE(port.value("rdma_bytes_sent_total"));
}

TEST_CASE("hfi1's two names that invite a swap are not swapped") {
  Port port(Driver::hfi1);
  port.read(CounterSet::hardware, {{"SeqNak", 1}, {"RcSeqNak", 2}});
  CHECK(port.value("rdma_sequence_naks_received_total") == 1);
  CHECK(port.value("rdma_out_of_sequence_received_total") == 2);
}

TEST_CASE("names with blanks are names") {
  Port port(Driver::irdma);
  port.read(CounterSet::hardware, {{"RNR sent", 8}, {"Nak Sequence Error", 9}, {"ip4OutPkts", 1}, {"ip6OutPkts", 2}, {"TxUDP", 50}});
  CHECK(port.value("rdma_rnr_naks_sent_total") == 8);
  CHECK(port.value("rdma_sequence_naks_received_total") == 9);
  CHECK(port.value("rdma_packets_sent_total") == 3);
}

TEST_CASE("link errors of counters/ hold on InfiniBand only; Ethernet's carrier is counted by the netdev") {
  Port ethernet(Driver::mlx5, false), infiniband(Driver::mlx5, true);
  for (auto* port : {&ethernet, &infiniband}) {
    port->read(CounterSet::pma, {{"link_downed", 0}, {"symbol_error", 4}});
    port->read(CounterSet::netdev, {{"carrier_down_count", 6}});
  }
  CHECK(ethernet.value("rdma_link_downed_total") == 6);
  CHECK_FALSE(ethernet.value("rdma_symbol_errors_total"));
  CHECK(infiniband.value("rdma_link_downed_total") == 0);
  CHECK(infiniband.value("rdma_symbol_errors_total") == 4);
}

TEST_CASE("each priority has a series, in seconds where the driver counts microseconds") {
  Port port(Driver::mlx5);
  port.read(CounterSet::ethtool, {{"rx_prio3_pause", 12}, {"rx_prio3_pause_duration", 2'500'000}, {"tx_prio0_pause", 1}});
  CHECK(port.value("rdma_pfc_pause_frames_received_total/3") == 12);
  CHECK(port.value("rdma_pfc_pause_seconds_received_total/3") == Approx(2.5));
  CHECK(port.value("rdma_pfc_pause_frames_sent_total/0") == 1);
  CHECK_FALSE(port.value("rdma_pfc_pause_frames_received_total/0"));
}

TEST_CASE("a series whose counter failed once is left out once, and goes on") {
  Port port(Driver::mlx5);
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 5}, {"packet_seq_err", 30}});
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 6}}, {{"packet_seq_err", 5}});
  CHECK_FALSE(port.value("rdma_retransmissions_total"));
  CHECK(port.value("rdma_ack_timeouts_total") == 6);
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 7}, {"packet_seq_err", 31}});
  CHECK(port.value("rdma_retransmissions_total") == 38);
}

TEST_CASE("a change of the counter behind a series makes no leap") {
  Port port(Driver::mlx5);
  port.read(CounterSet::hardware, {{"rdma_tx_packets", 1'000}});
  CHECK(port.value("rdma_packets_sent_total") == 1'000);
  port.read(CounterSet::pma, {{"port_xmit_packets", 900'000}});  // comes late, and is the better one
  CHECK(port.value("rdma_packets_sent_total") == 1'000);
  port.read(CounterSet::pma, {{"port_xmit_packets", 900'050}});
  CHECK(port.value("rdma_packets_sent_total") == 1'050);
}

TEST_CASE("the reset of one counter of a sum does not look like the reset of all") {
  Port port(Driver::mlx5);
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 1000}, {"packet_seq_err", 5000}});
  port.read(CounterSet::hardware, {{"local_ack_timeout_err", 2}, {"packet_seq_err", 5001}});
  CHECK(port.value("rdma_retransmissions_total") == 6003);
  CHECK(port.value("rdma_ack_timeouts_total") == 2);
}
