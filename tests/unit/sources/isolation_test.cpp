// SPDX-License-Identifier: Apache-2.0
// Files that fail with any errno and reads that nothing can interrupt: what fails costs itself only (CASES A).
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>

#include "sources/patience.hpp"
#include "support/fuse_tree.hpp"
#include "unit/sources/site.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

struct FuseSite : test::SiteOf<test::FuseTree> {
  [[nodiscard]] bool possible() const {
    if (!tree.trouble().empty()) WARN("left out: " + tree.trouble());
    return tree.trouble().empty();
  }
  static std::string port(const std::string& device) { return "class/infiniband/" + device + "/ports/1/"; }
  [[nodiscard]] std::optional<double> raw(const std::string& device, const std::string& name, const std::string& source) const {
    return value("rdma_raw_total{device=\"" + device + "\",name=\"" + name + "\",port=\"1\",source=\"" + source + "\"}");
  }
  [[nodiscard]] std::optional<double> errors(const std::string& device, const std::string& name, const std::string& error) const {
    return value("rdma_read_errors_total{device=\"" + device + "\",errno=\"" + error + "\",name=\"" + name + "\",port=\"1\"}");
  }
};

}  // namespace

TEST_CASE_METHOD(FuseSite, "A6: EINVAL, EOPNOTSUPP, ENODATA or EIO on one counter costs that series only, and is not asked again and again") {
  if (!possible()) return;
  device("mlx5_0", "InfiniBand");
  const auto counters = port("mlx5_0") + "counters/";
  tree.file(counters + "port_xmit_data", "100");
  tree.file(counters + "link_downed", "2");
  tree.fails(counters + "VL15_dropped", EINVAL);
  tree.fails(counters + "symbol_error", EOPNOTSUPP);
  tree.fails(counters + "port_xmit_wait", ENODATA);
  tree.fails(counters + "port_rcv_errors", EIO);
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(raw("mlx5_0", "port_xmit_data", "counters") == 100);
  CHECK(value(R"(rdma_bytes_sent_total{device="mlx5_0",port="1"})") == 400);
  CHECK(raw("mlx5_0", "link_downed", "counters") == 2);
  for (int i = 0; i < 600; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK(tree.asked(counters + "link_downed") >= 60);
  for (const auto* absent : {"VL15_dropped", "symbol_error", "port_xmit_wait"}) {
    CAPTURE(absent);
    CHECK(tree.asked(counters + absent) == 1);
    CHECK_FALSE(raw("mlx5_0", absent, "counters"));
  }
  CHECK(tree.asked(counters + "port_rcv_errors") <= 3 + 10);
  CHECK(errors("mlx5_0", "VL15_dropped", "EINVAL") == 1);
  CHECK(errors("mlx5_0", "symbol_error", "EOPNOTSUPP") == 1);
  CHECK(errors("mlx5_0", "port_xmit_wait", "ENODATA") == 1);
  CHECK(errors("mlx5_0", "port_rcv_errors", "EIO").value_or(0) >= 3);
  CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 0);

  // A device that went and came back is asked for everything again.
  tree.remove("class/infiniband/mlx5_0");
  loop.advance(10s);
  REQUIRE(loop.run_until([&] { return count("device_removed") == 1; }));
  device("mlx5_0", "InfiniBand");
  tree.file(counters + "VL15_dropped", "3");
  loop.advance(10s);
  REQUIRE(await_device("mlx5_0"));
  CHECK(raw("mlx5_0", "VL15_dropped", "counters") == 3);
}

TEST_CASE_METHOD(FuseSite, "A9: all of counters/ says EINVAL, hw_counters go on") {
  if (!possible()) return;
  device("bnxt_re0");
  for (const auto* name : {"port_xmit_data", "port_rcv_data", "symbol_error"}) tree.fails(port("bnxt_re0") + "counters/" + name, EINVAL);
  tree.file(port("bnxt_re0") + "hw_counters/to_retransmits", "5");
  start();
  REQUIRE(await_device("bnxt_re0"));
  CHECK(value(R"(rdma_ack_timeouts_total{device="bnxt_re0",port="1"})") == 5);
  tree.file(port("bnxt_re0") + "hw_counters/to_retransmits", "6");
  REQUIRE(tick({"bnxt_re0"}));
  CHECK(value(R"(rdma_ack_timeouts_total{device="bnxt_re0",port="1"})") == 6);
}

TEST_CASE_METHOD(FuseSite, "A5: a port's attribute that fails ends its own series at once, and hides neither the others nor the other port") {
  if (!possible()) return;
  device("mlx5_0");
  tree.file("class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE");
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(R"(rdma_port_rate_bytes_per_second{device="mlx5_0",port="1"})") == 12.5e9);
  tree.fails(port("mlx5_0") + "rate", EIO);
  REQUIRE(tick({"mlx5_0"}));
  CHECK_FALSE(value(R"(rdma_port_rate_bytes_per_second{device="mlx5_0",port="1"})"));
  CHECK(value(R"(rdma_port_state{device="mlx5_0",port="1"})") == 4);
  CHECK(value(R"(rdma_port_state{device="mlx5_0",port="2"})") == 4);
  CHECK(errors("mlx5_0", "rate", "EIO") == 1);
  tree.file(port("mlx5_0") + "rate", "100 Gb/sec (4X EDR)");
  REQUIRE(tick({"mlx5_0"}));
  CHECK(value(R"(rdma_port_rate_bytes_per_second{device="mlx5_0",port="1"})") == 12.5e9);
}

TEST_CASE_METHOD(FuseSite, "A19: a device of which nothing can be read holds up no other") {
  if (!possible()) return;
  for (const auto* name : {"mlx5_0", "mlx5_1", "mlx5_2"}) device(name);
  for (const auto* name : {"fw_ver", "node_guid", "ports/1/state", "ports/1/phys_state", "ports/1/rate", "ports/1/link_layer"})
    tree.fails(std::string("class/infiniband/mlx5_1/") + name, EIO);
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(await_device("mlx5_2"));
  REQUIRE(loop.run_until([&] { return errors("mlx5_1", "state", "EIO") == 1; }));
  for (int i = 0; i < 10; ++i) REQUIRE(tick({"mlx5_0", "mlx5_1", "mlx5_2"}));
  CHECK(value(R"(rdma_port_state{device="mlx5_2",port="1"})") == 4);
  CHECK(errors("mlx5_1", "state", "EIO") == Patience::kTries);
}

TEST_CASE_METHOD(FuseSite, "A20: reads of 1 device of 16 that nothing can interrupt: it is stale at once, the others lose no reading, the end waits for nobody") {
  if (!possible()) return;
  std::vector<std::string> others;
  for (int i = 0; i < 16; ++i) {
    const auto name = "mlx5_" + std::to_string(i);
    device(name);
    tree.file(port(name) + "hw_counters/packet_seq_err", "1");
    tree.file(port(name) + "hw_counters/rnr_nak_retry_err", "0");
    if (i != 7) others.push_back(name);
  }
  start();
  for (const auto& name : others) REQUIRE(await_device(name));
  REQUIRE(await_device("mlx5_7"));
  tree.hangs(port("mlx5_7") + "hw_counters/packet_seq_err");
  for (int i = 0; i < 5; ++i) REQUIRE(tick(others));
  REQUIRE(value(R"(rdma_device_stale{device="mlx5_7"})") == 1);
  CHECK_FALSE(raw("mlx5_7", "packet_seq_err", "hw_counters"));
  CHECK_FALSE(value(R"(rdma_port_state{device="mlx5_7",port="1"})"));
  CHECK(tree.hanging() == 1);  // one reader a device
  CHECK(tree.asked(port("mlx5_7") + "hw_counters/packet_seq_err") <= 3);
  for (const auto& name : others) tree.file(port(name) + "hw_counters/packet_seq_err", "2");
  REQUIRE(tick(others));
  for (const auto& name : others) CHECK(raw(name, "packet_seq_err", "hw_counters") == 2);
  for (const auto& status : host->devices()) CHECK(status.stale == (status.name == "mlx5_7"));

  SECTION("when it answers at last, it is well once it answers in time") {
    tree.file(port("mlx5_7") + "hw_counters/packet_seq_err", "9");
    REQUIRE(loop.run_until([&] { return raw("mlx5_7", "packet_seq_err", "hw_counters").has_value(); }));
    CHECK(value(R"(rdma_device_stale{device="mlx5_7"})") == 1);
    loop.advance(1s);
    CHECK(await(R"(rdma_device_stale{device="mlx5_7"})", 0));
  }
  SECTION("it may be taken away while it hangs") {
    tree.remove("class/infiniband/mlx5_7/node_guid");
    auto fewer = options;
    fewer.exclude = {"mlx5_7"};
    host->reconfigure(fewer);
    CHECK(host->devices().size() == 15);
    CHECK_FALSE(value(R"(rdma_device_stale{device="mlx5_7"})"));
    REQUIRE(tick(others));
  }
  SECTION("the end does not wait for it") {
    const auto before = std::chrono::steady_clock::now();
    host.reset();
    CHECK(std::chrono::steady_clock::now() - before < 1s);
  }
}

TEST_CASE_METHOD(FuseSite, "A20: a search for devices that does not end is told; those that are known go on, and one that came meanwhile is found in the end") {
  if (!possible()) return;
  const std::string stale = R"(rdma_source_stale{source="devices"})";
  device("mlx5_0");
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(tick({"mlx5_0"}));
  CHECK(value(stale) == 0);
  tree.list_hangs("class/infiniband", true);
  for (int i = 0; i < 10; ++i) REQUIRE(tick({"mlx5_0"}));
  REQUIRE(tree.await_hanging());
  device("mlx5_1");
  for (int i = 0; i < 3; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK(value(stale) == 1);
  CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 0);
  CHECK(host->devices().size() == 1);
  tree.list_hangs("class/infiniband", false);
  REQUIRE(await_device("mlx5_1"));
  for (int i = 0; i < 100 && value(stale) != 0; ++i) REQUIRE(tick({"mlx5_0", "mlx5_1"}));  // the next search ends in time
  CHECK(value(stale) == 0);
}

TEST_CASE_METHOD(FuseSite, "A20: a device that always takes longer than the deadline stays stale, for the rule that says so") {
  if (!possible()) return;
  device("mlx5_0");
  const auto slow = port("mlx5_0") + "hw_counters/packet_seq_err";
  tree.file(slow, "1");
  start();
  REQUIRE(await_device("mlx5_0"));
  for (int i = 0; i < 5; ++i) {
    tree.hangs(slow);
    loop.advance(1s);
    REQUIRE(tree.await_hanging());
    loop.advance(options.deadline);
    CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 1);
    CHECK_FALSE(value(R"(rdma_port_state{device="mlx5_0",port="1"})"));
    tree.file(slow, "1");
    REQUIRE(await_device("mlx5_0"));
    CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 1);
  }
}
