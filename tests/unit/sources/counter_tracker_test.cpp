// SPDX-License-Identifier: Apache-2.0
#include "sources/counter_tracker.hpp"

#include <catch2/catch.hpp>

using namespace rdmend::sources;

namespace {

CounterReading reading(std::vector<std::pair<std::string, std::uint64_t>> values) {
  CounterReading made;
  made.values = std::move(values);
  return made;
}

constexpr std::uint64_t k32 = std::uint64_t{1} << 32U;

}  // namespace

TEST_CASE("a fall is a wrap only if the counter wraps, stood above half, and moved on by less than half") {
  const Width wraps{32, false}, wide{64, false}, sticks{32, true};
  CHECK(counter_step(wraps, 5, 9).grown == 4);
  CHECK(counter_step(wraps, k32 - 10, 5).grown == 15);
  CHECK_FALSE(counter_step(wraps, k32 - 10, 5).reset);
  CHECK(counter_step(wraps, (k32 / 2) + 1, 0).grown == (k32 / 2) - 1);
  CHECK(counter_step(wraps, k32 / 2, 0).reset);            // not above half
  CHECK(counter_step(wraps, (k32 / 2) + 10, 20).reset);    // moved on by more than half
  CHECK(counter_step(wraps, 1'000'000, 0).reset);          // a driver reload
  CHECK(counter_step(wide, ~std::uint64_t{0}, 5).reset);
  CHECK(counter_step(sticks, k32 - 1, 0).reset);
}

TEST_CASE("a counter of 32 bit is carried on to 64") {
  CounterTracker tracker;
  tracker.set_driver(Driver::mlx5);
  std::uint64_t truth = k32 - 100;
  CHECK(tracker.ingest(CounterSet::hardware, reading({{"rx_write_requests", truth}})).empty());
  for (int i = 0; i < 20; ++i) {
    truth += 0x3000'0000;
    CHECK(tracker.ingest(CounterSet::hardware, reading({{"rx_write_requests", truth % k32}})).empty());
    CHECK(tracker.find(CounterSet::hardware, "rx_write_requests")->total == truth);
  }
}

TEST_CASE("B3: a reset is a fall of the value, told by name, and no spike") {
  CounterTracker tracker;
  tracker.set_driver(Driver::mlx5);
  tracker.ingest(CounterSet::hardware, reading({{"packet_seq_err", 1000}, {"np_cnp_sent", 7}}));
  CHECK(tracker.ingest(CounterSet::hardware, reading({{"packet_seq_err", 3}, {"np_cnp_sent", 8}})) == std::vector<std::string>{"packet_seq_err"});
  CHECK(tracker.find(CounterSet::hardware, "packet_seq_err")->total == 3);
  tracker.ingest(CounterSet::hardware, reading({{"packet_seq_err", 5}, {"np_cnp_sent", 9}}));
  CHECK(tracker.find(CounterSet::hardware, "packet_seq_err")->total == 5);
}

TEST_CASE("B1: a counter at the largest value of its width is saturated") {
  struct Case {
    const char* name;
    std::uint64_t largest;
  };
  CounterTracker tracker;
  for (const auto& [name, largest] : {Case{"symbol_error", 65535}, Case{"link_downed", 255}, Case{"local_link_integrity_errors", 15}, Case{"excessive_buffer_overrun_errors", 15},
                                      Case{"port_rcv_constraint_errors", 255}, Case{"VL15_dropped", 65535}, Case{"port_xmit_wait", k32 - 1}}) {
    CAPTURE(name);
    tracker.ingest(CounterSet::pma, reading({{name, largest - 1}}));
    CHECK_FALSE(tracker.find(CounterSet::pma, name)->saturated());
    tracker.ingest(CounterSet::pma, reading({{name, largest}}));
    CHECK(tracker.find(CounterSet::pma, name)->saturated());
    CHECK(tracker.ingest(CounterSet::pma, reading({{name, 0}})).size() == 1);  // cleared by another tool: a reset, never a wrap
    CHECK(tracker.find(CounterSet::pma, name)->total == 0);
  }
}

TEST_CASE("gauges may fall without anybody being told") {
  CounterTracker tracker;
  tracker.set_driver(Driver::bnxt_re);
  tracker.ingest(CounterSet::hardware, reading({{"active_qps", 40}}));
  CHECK(tracker.ingest(CounterSet::hardware, reading({{"active_qps", 2}})).empty());
  CHECK(tracker.find(CounterSet::hardware, "active_qps")->gauge);
  CHECK(tracker.find(CounterSet::hardware, "active_qps")->total == 2);
}

TEST_CASE("a counter that was missing for a while goes on from what it had") {
  CounterTracker tracker;
  tracker.ingest(CounterSet::hardware, reading({{"a", 5}}));
  CounterReading failed;
  failed.faults.push_back({"a", 5});
  tracker.ingest(CounterSet::hardware, failed);
  CHECK_FALSE(tracker.find(CounterSet::hardware, "a")->present);
  CHECK(tracker.find(CounterSet::hardware, "a")->failed);
  tracker.ingest(CounterSet::hardware, reading({{"a", 6}}));
  CHECK(tracker.find(CounterSet::hardware, "a")->total == 6);
  CHECK(tracker.find(CounterSet::hardware, "a")->present);
}

TEST_CASE("the number of counters is bounded") {
  CounterTracker tracker;
  for (int batch = 0; batch < 10; ++batch) {
    CounterReading many;
    for (int i = 0; i < 2000; ++i) many.values.emplace_back(std::to_string(batch) + "_" + std::to_string(i), 1);
    tracker.ingest(CounterSet::hardware, many);
  }
  CHECK(tracker.of(CounterSet::hardware).size() == CounterTracker::kMost);
}
