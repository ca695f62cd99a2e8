// SPDX-License-Identifier: Apache-2.0
#include "sources/host.hpp"

#include <fcntl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "metrics/exposition.hpp"
#include "sources/discovery.hpp"
#include "sources/sysfs.hpp"
#include "support/tree.hpp"
#include "unit/sources/site.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

using Site = test::SiteOf<test::Tree>;

}  // namespace

TEST_CASE_METHOD(Site, "A2, A22: no device is a normal state; one that comes later is found, one that goes leaves no series") {
  start();
  CHECK_FALSE(host->searched());
  REQUIRE(loop.run_until([&] { return host->searched(); }));
  CHECK(host->devices().empty());
  CHECK(values.empty());
  device("mlx5_0");
  loop.advance(10s);
  REQUIRE(await_device("mlx5_0"));
  CHECK(count("device_added") == 1);
  CHECK(host->devices().size() == 1);
  tree.remove("class/infiniband/mlx5_0");
  loop.advance(10s);
  REQUIRE(loop.run_until([&] { return count("device_removed") == 1; }));
  loop.advance(1s);
  CHECK(values == std::map<std::string, double>{{R"(rdma_source_stale{source="devices"})", 0}});
  CHECK(host->devices().empty());
}

TEST_CASE_METHOD(Site, "A4: a tree that is not there at all is no device") {
  options.sysfs = tree.at("nothing/here");
  start();
  REQUIRE(loop.run_until([&] { return host->searched(); }));
  loop.advance(30s);
  CHECK(host->devices().empty());
}

TEST_CASE_METHOD(Site, "the first search is done only when its devices are known") {
  device("mlx5_0");
  device("mlx5_1");
  start();
  CHECK(host->devices().empty());
  REQUIRE(loop.run_until([&] { return host->searched(); }));
  CHECK(host->devices().size() == 2);
}

TEST_CASE_METHOD(Site, "a port tells its state, its rate and who it is") {
  device("mlx5_0");
  tree.files("0000:3b:00.0", {});
  tree.link("0000:3b:00.0/driver", "../drivers/mlx5_core");
  tree.link("class/infiniband/mlx5_0/device", "../../../0000:3b:00.0");
  tree.file("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
  tree.file("class/net/eth0/carrier_down_count", "3");
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(R"(rdma_port_state{device="mlx5_0",port="1"})") == 4);
  CHECK(value(R"(rdma_port_physical_state{device="mlx5_0",port="1"})") == 5);
  CHECK(value(R"(rdma_port_rate_bytes_per_second{device="mlx5_0",port="1"})") == 12.5e9);
  CHECK(value(R"(rdma_link_downed_total{device="mlx5_0",port="1"})") == 3);
  CHECK(value("rdma_port_info{device=\"mlx5_0\",driver=\"mlx5\",function=\"pf\",fw=\"1.2\",link_layer=\"Ethernet\",netdev=\"eth0\",node_guid=\"" + guid("mlx5_0") +
              "\",pci=\"0000:3b:00.0\",port=\"1\"}") == 1);
  tree.file("class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  loop.advance(1s);
  CHECK(await(R"(rdma_port_state{device="mlx5_0",port="1"})", 1));
}

TEST_CASE_METHOD(Site, "A8, A10, A17: counters are exported raw, of port and device, and normalised; their type follows their name") {
  device("efa_0");
  tree.file("class/infiniband/efa_0/hw_counters/submitted_cmds", "5");
  tree.file("class/infiniband/efa_0/hw_counters/lifespan", "10");
  tree.file("class/infiniband/efa_0/ports/1/hw_counters/rx_drops", "6");
  tree.file("class/infiniband/efa_0/ports/1/hw_counters/odd \x01name\xff", "7");
  start();
  REQUIRE(await_device("efa_0"));
  CHECK(value(R"(rdma_raw_total{device="efa_0",name="submitted_cmds",source="hw_counters"})") == 5);
  CHECK(value(R"(rdma_raw_total{device="efa_0",name="rx_drops",port="1",source="hw_counters"})") == 6);
  CHECK(value(R"(rdma_receive_discards_total{device="efa_0",port="1"})") == 6);
  CHECK(value(R"(rdma_raw_total{device="efa_0",name="odd \\x01name\\xff",port="1",source="hw_counters"})") == 7);
  CHECK(std::none_of(values.begin(), values.end(), [](const auto& entry) { return entry.first.find("lifespan") != std::string::npos; }));
  CHECK(value(R"(rdma_device_stale{device="efa_0"})") == 0);
}

TEST_CASE_METHOD(Site, "counters whose names differ only in what is escaped, or late, are two series") {
  device("efa_0");
  const std::string stem(200, 'n'), directory = "class/infiniband/efa_0/ports/1/hw_counters/";
  const std::pair<std::string, double> counters[] = {{"\x01", 1}, {R"(\x01)", 2}, {stem + "a", 3}, {stem + "b", 4}};
  for (const auto& [name, count] : counters) tree.file(directory + name, std::to_string(static_cast<int>(count)));
  start();
  REQUIRE(await_device("efa_0"));
  const auto raw = [&](const std::string& shown) { return value("rdma_raw_total{device=\"efa_0\",name=\"" + shown + "\",port=\"1\",source=\"hw_counters\"}"); };
  CHECK(raw(R"(\\x01)") == 1);
  CHECK(raw(R"(\\x5cx01)") == 2);
  CHECK(raw(stem + "a") == 3);
  CHECK(raw(stem + "b") == 4);
}

TEST_CASE_METHOD(Site, "B1, B3, B5: PMA counters are saturated, reset and told so") {
  device("mlx5_0", "InfiniBand");
  const std::string counters = "class/infiniband/mlx5_0/ports/1/counters/";
  tree.file("class/infiniband/mlx5_0/ports/1/lid", "0x5");
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/rnr_nak_retry_err", "0");
  tree.file(counters + "symbol_error", "65535");
  tree.file(counters + "port_xmit_data", "100");
  tree.file(counters + "link_downed", "N/A (no PMA)");
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(R"(rdma_port_lid{device="mlx5_0",port="1"})") == 5);
  CHECK(value(R"(rdma_counters_saturated{device="mlx5_0",name="symbol_error",port="1"})") == 1);
  CHECK(value(R"(rdma_bytes_sent_total{device="mlx5_0",port="1"})") == 400);
  CHECK(value(R"(rdma_counters_resets_total{device="mlx5_0",port="1"})") == 0);
  CHECK_FALSE(value(R"(rdma_link_downed_total{device="mlx5_0",port="1"})"));
  tree.file(counters + "symbol_error", "2");
  for (int i = 0; i < 10; ++i) REQUIRE(tick({"mlx5_0"}));
  REQUIRE(await(R"(rdma_symbol_errors_total{device="mlx5_0",port="1"})", 2));
  CHECK(await(R"(rdma_counters_resets_total{device="mlx5_0",port="1"})", 1));
  CHECK(value(R"(rdma_counters_saturated{device="mlx5_0",name="symbol_error",port="1"})") == 0);
  REQUIRE(count("counter_reset") == 1);
  CHECK(events.back().detail == "symbol_error");
  CHECK(events.back().port == "1");
}

TEST_CASE_METHOD(Site, "counters/ is read in its own, slower rhythm") {
  device("mlx5_0", "InfiniBand");
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  tree.file(port + "counters/symbol_error", "1");
  tree.file(port + "hw_counters/out_of_buffer", "1");
  start();
  REQUIRE(await_device("mlx5_0"));
  tree.file(port + "counters/symbol_error", "2");
  tree.file(port + "hw_counters/out_of_buffer", "2");
  loop.advance(1s);
  CHECK(await(R"(rdma_raw_total{device="mlx5_0",name="out_of_buffer",port="1",source="hw_counters"})", 2));
  CHECK(value(R"(rdma_raw_total{device="mlx5_0",name="symbol_error",port="1",source="counters"})") == 1);
  for (int i = 0; i < 10; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK(await(R"(rdma_raw_total{device="mlx5_0",name="symbol_error",port="1",source="counters"})", 2));
}

TEST_CASE_METHOD(Site, "A5, A11: a file, a port, a device that fails hides no other, and is counted with its reason") {
  device("irdma0");
  device("mlx5_0");
  tree.link("class/infiniband/irdma0/ports/1/hw_counters/cnpSent", "/proc/self/mem");
  tree.file("class/infiniband/irdma0/ports/1/hw_counters/RxECNMrkd", "4");
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer", "9");
  tree.files("class/infiniband/broken", {});
  start();
  REQUIRE(await_device("irdma0"));
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(R"(rdma_raw_total{device="irdma0",name="RxECNMrkd",port="1",source="hw_counters"})") == 4);
  CHECK(value(R"(rdma_read_errors_total{device="irdma0",errno="EIO",name="cnpSent",port="1"})") == 1);
  CHECK(value(R"(rdma_raw_total{device="mlx5_0",name="out_of_buffer",port="1",source="hw_counters"})") == 9);
  CHECK(await(R"(rdma_device_stale{device="broken"})", 0));
  CHECK(host->devices().size() == 3);
}

TEST_CASE_METHOD(Site, "A19, A20: a reading that hangs makes its device stale, no other, and the end waits for nobody") {
  device("mlx5_0");
  device("mlx5_1");
  const std::string hung = "class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer";
  for (const char* name : {"mlx5_0", "mlx5_1"}) tree.file(std::string("class/infiniband/") + name + "/ports/1/hw_counters/packet_seq_err", "1");
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(await_device("mlx5_1"));
  hang(hung);
  for (int i = 1; i < 60; ++i) REQUIRE(tick({"mlx5_0", "mlx5_1"}));
  REQUIRE(tick({"mlx5_1"}));  // directories are listed once a minute: now the new file is opened
  REQUIRE(tick({"mlx5_1"}, options.deadline));
  REQUIRE(value(R"(rdma_device_stale{device="mlx5_0"})") == 1);
  CHECK_FALSE(value(R"(rdma_port_state{device="mlx5_0",port="1"})"));
  CHECK_FALSE(value(R"(rdma_raw_total{device="mlx5_0",name="packet_seq_err",port="1",source="hw_counters"})"));
  CHECK(host->devices().front().stale);

  tree.file("class/infiniband/mlx5_1/ports/1/hw_counters/packet_seq_err", "2");
  REQUIRE(tick({"mlx5_1"}));
  CHECK(await(R"(rdma_raw_total{device="mlx5_1",name="packet_seq_err",port="1",source="hw_counters"})", 2));
  CHECK(value(R"(rdma_device_stale{device="mlx5_1"})") == 0);
  CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 1);

  SECTION("it comes back when the device answers") {
    tree.release(hung);
    REQUIRE(await_device("mlx5_0"));
    loop.advance(1s);  // it is well once it answers in time
    CHECK(await(R"(rdma_device_stale{device="mlx5_0"})", 0));
    CHECK(value(R"(rdma_port_state{device="mlx5_0",port="1"})") == 4);
  }
  SECTION("or is left behind") {
    const auto before = std::chrono::steady_clock::now();
    host.reset();
    CHECK(std::chrono::steady_clock::now() - before < 1s);
  }
}

TEST_CASE_METHOD(Site, "A19: a device that hangs from the very first reading is there, and stale") {
  device("mlx5_0");
  device("mlx5_1");
  hang("class/infiniband/mlx5_0/ports/1/state");
  start();
  REQUIRE(await_device("mlx5_1"));
  loop.advance(options.deadline);
  CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 1);
  CHECK(value(R"(rdma_device_stale{device="mlx5_1"})") == 0);
}

TEST_CASE_METHOD(Site, "devices are chosen by name, anew at each reload, and those that stay keep their counters' history") {
  for (const char* name : {"mlx5_0", "mlx5_1", "rxe0"}) {
    device(name);
    tree.file(std::string("class/infiniband/") + name + "/ports/1/hw_counters/packet_seq_err", "4294967290");
    tree.file(std::string("class/infiniband/") + name + "/ports/1/hw_counters/rnr_nak_retry_err", "0");
  }
  options.include = {"mlx5_.*"};
  options.exclude = {"mlx5_1", "(bad"};
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(host->devices().size() == 1);
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err", "10");
  auto wider = options;
  wider.include = {".*"};
  wider.interval = 500ms;
  host->reconfigure(wider);
  REQUIRE(await_device("rxe0"));
  loop.advance(500ms);
  CHECK(await(R"(rdma_raw_total{device="mlx5_0",name="packet_seq_err",port="1",source="hw_counters"})", 4294967306.0));
  wider.exclude = {"mlx5_0"};
  host->reconfigure(wider);
  REQUIRE(await_device("mlx5_1"));
  CHECK_FALSE(value(R"(rdma_port_state{device="mlx5_0",port="1"})"));
}

namespace {

struct IdentitySite : Site {
  const std::string counters = "/ports/1/hw_counters/";
  // An mlx5 whose 32 bit counter stands at that value.
  void mlx5(const std::string& name, const std::string& node_guid, std::uint64_t packets) {
    device(name);
    tree.file("class/infiniband/" + name + "/node_guid", node_guid);
    tree.file("class/infiniband/" + name + counters + "packet_seq_err", std::to_string(packets));
    tree.file("class/infiniband/" + name + counters + "rnr_nak_retry_err", "0");
  }
  static std::string naks(const std::string& name) { return "rdma_sequence_naks_received_total{device=\"" + name + "\",port=\"1\"}"; }
  bool rescan(const std::string& expected) {
    loop.advance(10s);
    return await_device(expected);
  }
  // mlx5_0 goes, which is seen, and comes again.
  void comes_again(const std::string& node_guid, std::uint64_t packets) {
    tree.remove("class/infiniband/mlx5_0");
    loop.advance(10s);
    REQUIRE(loop.run_until([&] { return count("device_removed") == 1; }));
    mlx5("mlx5_0", node_guid, packets);
    REQUIRE(rescan("mlx5_0"));
  }
};

}  // namespace

TEST_CASE_METHOD(IdentitySite, "a device that is renamed counts on: it is its node GUID and PCI address, its name a label") {
  mlx5("mlx5_0", "0000:0000:0000:00aa", 4'294'967'290);
  start();
  REQUIRE(await_device("mlx5_0"));
  tree.remove("class/infiniband/mlx5_0");
  mlx5("storage0", "0000:0000:0000:00aa", 10);
  REQUIRE(rescan("storage0"));
  REQUIRE(loop.run_until([&] { return !value(naks("mlx5_0")); }));
  CHECK(value(naks("storage0")) == 4'294'967'306.0);  // carried on over the wrap
  CHECK(count("counter_reset") == 0);
  CHECK(value(R"(rdma_counters_resets_total{device="storage0",port="1"})") == 0);
}

TEST_CASE_METHOD(IdentitySite, "B3: a device that comes back with its counters at 0 has been reset, and that is told") {
  mlx5("mlx5_0", "0000:0000:0000:00aa", 1000);
  start();
  REQUIRE(await_device("mlx5_0"));
  comes_again("0000:0000:0000:00aa", 3);
  CHECK(value(naks("mlx5_0")) == 3);
  CHECK(count("counter_reset") == 1);
  CHECK(value(R"(rdma_counters_resets_total{device="mlx5_0",port="1"})") == 1);
}

TEST_CASE_METHOD(IdentitySite, "another device under an old name is a reset: what it counted before is no growth") {
  mlx5("mlx5_0", "0000:0000:0000:00aa", 100);
  start();
  REQUIRE(await_device("mlx5_0"));
  SECTION("seen going and coming") { comes_again("0000:0000:0000:00bb", 5000); }
  SECTION("exchanged between two looks") {
    tree.remove("class/infiniband/mlx5_0");
    mlx5("mlx5_0", "0000:0000:0000:00bb", 5000);
    for (int i = 0; i < 61; ++i) REQUIRE(tick({"mlx5_0"}));
    REQUIRE(loop.run_until([&] { return count("device_replaced") == 1; }));
  }
  CHECK(await(naks("mlx5_0"), 0));
  tree.file("class/infiniband/mlx5_0" + counters + "packet_seq_err", "5007");
  for (int i = 0; i < 2; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK(value(naks("mlx5_0")) == 7);
}

TEST_CASE_METHOD(IdentitySite, "two devices that exchange their names keep their counts and leap nowhere") {
  mlx5("mlx5_0", "0000:0000:0000:00aa", 100);
  mlx5("mlx5_1", "0000:0000:0000:00bb", 5000);
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(await_device("mlx5_1"));
  for (const auto* name : {"mlx5_0", "mlx5_1"}) tree.remove(std::string("class/infiniband/") + name);
  loop.advance(10s);
  REQUIRE(loop.run_until([&] { return count("device_removed") == 2; }));
  mlx5("mlx5_0", "0000:0000:0000:00bb", 5001);
  mlx5("mlx5_1", "0000:0000:0000:00aa", 102);
  REQUIRE(rescan("mlx5_0"));
  REQUIRE(await_device("mlx5_1"));
  CHECK(value(naks("mlx5_0")) == 1);
  CHECK(value(naks("mlx5_1")) == 2);
  CHECK(count("counter_reset") == 0);
}

TEST_CASE_METHOD(IdentitySite, "B4: every counter is told from the first reading on, at its value, 0 too") {
  mlx5("mlx5_0", "0000:0000:0000:00aa", 41);
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(naks("mlx5_0")) == 41);
  CHECK(value(R"(rdma_rnr_naks_received_total{device="mlx5_0",port="1"})") == 0);
  CHECK(value(R"(rdma_raw_total{device="mlx5_0",name="rnr_nak_retry_err",port="1",source="hw_counters"})") == 0);
}

TEST_CASE("A16: where devices belong to a network namespace each, those that were moved away are named") {
  const test::Tree tree;
  const auto nic = [&](const std::string& pci, const std::string& half, bool bound) {
    tree.files("devices/pci0000:3a/" + pci + "/" + half, {});
    if (bound) tree.link("devices/pci0000:3a/" + pci + "/" + half + "/driver", "../../../../bus/auxiliary/drivers/mlx5_ib.rdma");
    tree.link("bus/auxiliary/devices/" + half, "../../../devices/pci0000:3a/" + pci + "/" + half);
  };
  nic("0000:3b:00.0", "mlx5_core.rdma.0", true);
  nic("0000:3b:00.1", "mlx5_core.rdma.1", true);
  nic("0000:3c:00.0", "mlx5_core.eth.2", true);
  nic("0000:3d:00.0", "ice.roce.0", false);  // nobody has taken it up
  tree.files("class/infiniband/mlx5_0", {});
  tree.link("class/infiniband/mlx5_0/device", "../../../devices/pci0000:3a/0000:3b:00.0");
  const auto root = open_dir(AT_FDCWD, tree.path());
  REQUIRE(root);
  CHECK(devices_elsewhere(root->get()) == std::vector<std::string>{"0000:3b:00.1 (mlx5_core.rdma.1)"});
  const test::Tree empty;
  CHECK(devices_elsewhere(open_dir(AT_FDCWD, empty.path())->get()).empty());
}

TEST_CASE("A4: a tree that cannot be opened is told from one without devices") {
  const test::Tree tree;
  CHECK(Finder(tree.at("nothing/here"), false).find().error == ENOENT);
  CHECK(Finder(tree.path(), false).find().error == 0);
}

TEST_CASE("A17: counters are counters and end in _total, nothing else does, and each says what it is") {
  for (const auto& row : metrics::families()) {
    CAPTURE(row.name);
    CHECK(row.name.ends_with("_total") == (row.type == metrics::FamilyType::counter));
    CHECK(row.help.size() > 10);
  }
}
