// SPDX-License-Identifier: Apache-2.0
// What ports' network devices count: ethtool's statistics and DCB, of drivers that this machine has not got, and of the kernel.
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "sources/choice.hpp"
#include "sources/netdev_reader.hpp"
#include "support/tree.hpp"
#include "unit/sources/site.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

// Network devices as the test wants them; one may hang, as all do while somebody holds the kernel's lock.
struct FakeNetdevs {
  struct Device {
    std::vector<std::pair<std::string, std::uint64_t>> statistics;
    std::optional<PfcCounts> pfc;
    int error = EOPNOTSUPP;  // where there are none
    int asked = 0;
  };
  std::mutex mutex;
  std::condition_variable released;
  std::map<std::string, Device> devices;
  bool held = false;

  class Calls : public NetdevCalls {
   public:
    explicit Calls(std::shared_ptr<FakeNetdevs> all) : all_(std::move(all)) {}
    Result<std::vector<std::string>> statistics_names(const std::string& netdev) override {
      return with<std::vector<std::string>>(netdev, [](Device& device) -> Result<std::vector<std::string>> {
        if (device.statistics.empty()) return errno_error("statistics", device.error);
        std::vector<std::string> names;
        for (const auto& [name, value] : device.statistics) names.push_back(name);
        return names;
      });
    }
    Result<std::vector<std::uint64_t>> statistics(const std::string& netdev) override {
      return with<std::vector<std::uint64_t>>(netdev, [](Device& device) -> Result<std::vector<std::uint64_t>> {
        if (device.statistics.empty()) return errno_error("statistics", device.error);
        std::vector<std::uint64_t> values;
        for (const auto& [name, value] : device.statistics) values.push_back(value);
        return values;
      });
    }
    Result<PfcCounts> pfc(const std::string& netdev) override {
      return with<PfcCounts>(netdev, [](Device& device) -> Result<PfcCounts> {
        if (!device.pfc) return errno_error("DCB", device.error);
        return *device.pfc;
      });
    }

   private:
    template <class T, class Give>
    Result<T> with(const std::string& netdev, Give give) {
      std::unique_lock lock(all_->mutex);
      all_->released.wait(lock, [&] { return !all_->held; });
      ++all_->devices[netdev].asked;
      return give(all_->devices[netdev]);
    }
    std::shared_ptr<FakeNetdevs> all_;  // a worker's last call may outlive the test
  };
  void hold(bool whether) {
    const std::scoped_lock lock(mutex);
    held = whether;
    released.notify_all();
  }
};

struct NetSite : test::SiteOf<test::Tree> {
  NetSite() {
    options.deadline = 1h;  // the time of the test passes faster than the workers'
    options.netdev = [all = shared_netdevs] { return std::make_unique<FakeNetdevs::Calls>(all); };
  }
  ~NetSite() {
    netdevs.hold(false);
    host.reset();
  }
  NetSite(const NetSite&) = delete;
  NetSite& operator=(const NetSite&) = delete;
  void nic(const std::string& name, const std::string& netdev, const std::string& driver, const std::string& pci) {
    device(name);
    tree.files("pci/" + pci, {});
    tree.link("pci/" + pci + "/driver", "../../drivers/" + driver);
    tree.link("class/infiniband/" + name + "/device", "../../../pci/" + pci);
    tree.file("class/infiniband/" + name + "/ports/1/gid_attrs/ndevs/0", netdev);
  }
  // Until the network devices have been read once more.
  bool net_tick(const std::string& name, const std::string& series, double wanted) {
    for (int i = 0; i < 11; ++i)
      if (!tick({name})) return false;
    return await(series, wanted);
  }
  std::shared_ptr<FakeNetdevs> shared_netdevs = std::make_shared<FakeNetdevs>();
  FakeNetdevs& netdevs = *shared_netdevs;
};

std::string of(const std::string& metric, const std::string& device, const std::string& priority = "") {
  return metric + "{device=\"" + device + "\",port=\"1\"" + (priority.empty() ? "" : ",priority=\"" + priority + "\"") + "}";
}

}  // namespace

TEST_CASE_METHOD(NetSite, "pause frames, pause time, discards and errors of the wire come of the driver's own statistics, a priority each") {
  nic("mlx5_0", "eth0", "mlx5_core", "0000:3b:00.0");
  nic("irdma0", "eth1", "ice", "0000:5e:00.0");
  netdevs.devices["eth0"].statistics = {{"rx0_packets", 1},          {"rx_prio3_pause", 12},         {"rx_prio3_pause_duration", 2'500'000}, {"tx_prio3_pause", 4},
                                        {"tx_prio3_pause_duration", 1'000'000}, {"rx_discards_phy", 7}, {"rx_symbol_err_phy", 9},           {"link_down_events_phy", 2},
                                        {"rx_corrected_bits_phy", 77}};
  netdevs.devices["eth1"].statistics = {{"rx_priority_4_xoff.nic", 5}, {"tx_priority_4_xoff.nic", 6}};
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(await_device("irdma0"));
  REQUIRE(net_tick("mlx5_0", of("rdma_pfc_pause_frames_received_total", "mlx5_0", "3"), 12));
  CHECK(value(of("rdma_pfc_pause_seconds_received_total", "mlx5_0", "3")) == 2.5);
  CHECK(value(of("rdma_pfc_pause_frames_sent_total", "mlx5_0", "3")) == 4);
  CHECK(value(of("rdma_pfc_pause_seconds_sent_total", "mlx5_0", "3")) == 1);
  CHECK(value(of("rdma_receive_discards_total", "mlx5_0")) == 7);
  CHECK(value(of("rdma_symbol_errors_total", "mlx5_0")) == 9);
  CHECK(value(of("rdma_link_downed_total", "mlx5_0")) == 2);
  CHECK(value(of("rdma_corrected_errors_total", "mlx5_0")) == 77);
  CHECK(value(R"(rdma_raw_total{device="mlx5_0",name="rx_prio3_pause",port="1",source="ethtool"})") == 12);
  CHECK_FALSE(value(R"(rdma_raw_total{device="mlx5_0",name="rx0_packets",port="1",source="ethtool"})"));
  REQUIRE(await(of("rdma_pfc_pause_frames_received_total", "irdma0", "4"), 5));
  CHECK(value(of("rdma_pfc_pause_frames_sent_total", "irdma0", "4")) == 6);
}

TEST_CASE_METHOD(NetSite, "A13: a virtual function has neither statistics nor DCB: told as one, the families absent, no error, and not asked again") {
  nic("mlx5_0", "eth0", "mlx5_core", "0000:3b:00.0");
  nic("mlx5_2", "eth2", "mlx5_core", "0000:3b:00.2");
  tree.link("pci/0000:3b:00.2/physfn", "../0000:3b:00.0");
  netdevs.devices["eth0"].pfc.emplace();
  netdevs.devices["eth0"].pfc->requests[3] = 8;
  start();
  REQUIRE(await_device("mlx5_0"));
  REQUIRE(await_device("mlx5_2"));
  REQUIRE(net_tick("mlx5_0", of("rdma_pfc_pause_frames_sent_total", "mlx5_0", "3"), 8));
  for (int i = 0; i < 100; ++i) REQUIRE(tick({"mlx5_0", "mlx5_2"}));
  const auto info = [&](const std::string& device, const std::string& function, const std::string& netdev, const std::string& pci) {
    return value("rdma_port_info{device=\"" + device + "\",driver=\"mlx5\",function=\"" + function + "\",fw=\"1.2\",link_layer=\"Ethernet\",netdev=\"" + netdev + "\",node_guid=\"" + guid(device) +
                 "\",pci=\"" + pci + "\",port=\"1\"}");
  };
  CHECK(info("mlx5_0", "pf", "eth0", "0000:3b:00.0") == 1);
  CHECK(info("mlx5_2", "vf", "eth2", "0000:3b:00.2") == 1);
  for (const auto& [name, number] : values) {
    CAPTURE(name);
    if (name.find("mlx5_2") == std::string::npos) continue;
    CHECK(name.find("pfc") == std::string::npos);
    CHECK_FALSE(name.starts_with("rdma_read_errors_total"));
  }
  const std::scoped_lock lock(netdevs.mutex);
  CHECK(netdevs.devices["eth2"].asked == 2);  // each once
}

TEST_CASE_METHOD(NetSite, "A20: a network configuration that somebody holds locked ends what comes of it, and nothing else") {
  nic("mlx5_0", "eth0", "mlx5_core", "0000:3b:00.0");
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer", "1");
  netdevs.devices["eth0"].statistics = {{"rx_prio3_pause", 12}};
  options.deadline = 2s;
  start();
  REQUIRE(await_device("mlx5_0"));
  const auto paused = of("rdma_pfc_pause_frames_received_total", "mlx5_0", "3");
  REQUIRE(net_tick("mlx5_0", paused, 12));
  netdevs.hold(true);
  for (int i = 0; i < 15; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK_FALSE(value(paused));
  CHECK(value(R"(rdma_read_errors_total{device="mlx5_0",errno="ETIMEDOUT",name="ethtool"})").value_or(0) >= 1);
  CHECK(value(of("rdma_port_state", "mlx5_0")) == 4);
  CHECK(value(R"(rdma_device_stale{device="mlx5_0"})") == 0);
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer", "2");
  CHECK((tick({"mlx5_0"}) && value(of("rdma_rnr_naks_sent_total", "mlx5_0")) == 2));
  netdevs.hold(false);
  CHECK(net_tick("mlx5_0", paused, 12));
}

TEST_CASE_METHOD(NetSite, "C16: nothing of a RoCE host asks for MADs: no umad device, no counters/, and all that there is, is told") {
  nic("mlx5_0", "eth0", "mlx5_core", "0000:3b:00.0");
  tree.file("class/infiniband/mlx5_0/ports/1/hw_counters/rnr_nak_retry_err", "3");
  start();
  REQUIRE(await_device("mlx5_0"));
  CHECK(value(of("rdma_rnr_naks_received_total", "mlx5_0")) == 3);
  CHECK(std::none_of(values.begin(), values.end(), [](const auto& entry) { return entry.first.starts_with("rdma_read_errors_total"); }));
}

TEST_CASE_METHOD(NetSite, "C7: an InfiniBand port has no series of Ethernet's, so no rule of Ethernet's can fire for it") {
  device("mlx5_0", "InfiniBand");
  tree.file("class/infiniband/mlx5_0/ports/1/counters/link_downed", "1");
  start();
  REQUIRE(await_device("mlx5_0"));
  for (int i = 0; i < 12; ++i) REQUIRE(tick({"mlx5_0"}));
  CHECK(value(of("rdma_link_downed_total", "mlx5_0")) == 1);
  for (const auto& [name, number] : values) {
    CAPTURE(name);
    CHECK(name.find("pfc") == std::string::npos);
    CHECK(name.find("icrc") == std::string::npos);
    CHECK(name.find("netdev=") == std::string::npos);
  }
}

TEST_CASE_METHOD(NetSite, "A15: raw counters are chosen by name; what is left out is counted, and rules lose nothing") {
  device("hfi1_0", "InfiniBand");
  const std::string port = "class/infiniband/hfi1_0/ports/1/";
  for (int i = 0; i < 500; ++i) tree.file(port + "hw_counters/SDma" + std::to_string(i) + "Int", "1");
  tree.file(port + "hw_counters/RcTimeOut", "5");
  tree.file(port + "hw_counters/SDma", "5");
  options.raw = std::make_shared<const Choice>("raw counter", std::vector<std::string>{".*"}, std::vector<std::string>{"SDma[0-9]+.*", "RcTimeOut"});
  start();
  REQUIRE(await_device("hfi1_0"));
  CHECK(value(R"(rdma_raw_total{device="hfi1_0",name="SDma",port="1",source="hw_counters"})") == 5);
  CHECK_FALSE(value(R"(rdma_raw_total{device="hfi1_0",name="SDma7Int",port="1",source="hw_counters"})"));
  CHECK(value(of("rdma_raw_series_dropped", "hfi1_0")) == 501);
  CHECK(value(of("rdma_ack_timeouts_total", "hfi1_0")) == 5);
  auto all = options;
  all.raw = nullptr;
  host->reconfigure(all);
  REQUIRE(tick({"hfi1_0"}));
  CHECK(value(R"(rdma_raw_total{device="hfi1_0",name="SDma7Int",port="1",source="hw_counters"})") == 1);
  CHECK(value(of("rdma_raw_series_dropped", "hfi1_0")) == 0);
}

TEST_CASE("statistics of one queue are told from those of the port") {
  for (const auto* queue : {"rx0_packets", "tx12_bytes", "rx_queue_0_drops", "tx_queue_3_packets", "ch4_events", "rx-3.bytes", "queue_7_tx_cnt", "rxq0_xdp_drop", "rx[3]_bytes"}) CHECK(is_of_one_queue(queue));
  for (const auto* port : {"rx_prio3_pause", "tx_pause_prio_4", "rx_pfc_ena_frames_pri3", "port.rx_priority_3_xoff_rx", "rx_priority_3_xoff.nic", "mac_rx_pfc_pri3_pkt_num", "rx_64_bytes_phy",
                           "outbound_pci_stalled_wr", "rx_discards_phy", "tx_pause_storm_error_events"})
    CHECK_FALSE(is_of_one_queue(port));
}

TEST_CASE("names and values that do not belong together are not told") {
  const auto shared_netdevs = std::make_shared<FakeNetdevs>();
  auto& netdevs = *shared_netdevs;
  netdevs.devices["eth0"].statistics = {{"a", 1}, {"b", 2}};
  NetdevReader reader(std::make_shared<FakeNetdevs::Calls>(shared_netdevs));
  const auto read = [&](Instant at) { return reader.read({{"1", "eth0"}}, at).front().ethtool.values; };
  CHECK(read(Instant{1h}).size() == 2);
  netdevs.devices["eth0"].statistics.insert(netdevs.devices["eth0"].statistics.begin(), {"fresh", 9});
  CHECK(read(Instant{1h + 10s}).empty());
  const auto again = read(Instant{1h + 20s});
  REQUIRE(again.size() == 3);
  CHECK(again.front() == std::pair<std::string, std::uint64_t>("fresh", 9));
}

TEST_CASE("the kernel's answer about DCB is decoded, whatever its length") {
  ieee_pfc counts{};
  counts.requests[3] = 11;
  counts.indications[4] = 12;
  std::vector<std::byte> bytes(sizeof(nlmsghdr) + sizeof(dcbmsg) + 2 * sizeof(nlattr) + sizeof counts);
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(bytes.size());
  header.nlmsg_type = RTM_GETDCB;
  header.nlmsg_seq = 7;
  const nlattr inner{static_cast<std::uint16_t>(sizeof(nlattr) + sizeof counts), DCB_ATTR_IEEE_PFC};
  const nlattr outer{static_cast<std::uint16_t>(sizeof(nlattr) + inner.nla_len), DCB_ATTR_IEEE | NLA_F_NESTED};
  auto* at = bytes.data();
  std::memcpy(at, &header, sizeof header);
  at += sizeof header + sizeof(dcbmsg);
  std::memcpy(at, &outer, sizeof outer);
  std::memcpy(at + sizeof outer, &inner, sizeof inner);
  std::memcpy(at + sizeof outer + sizeof inner, &counts, sizeof counts);
  const auto decoded = dcb::decode_answer(bytes, 7);
  REQUIRE(decoded);
  CHECK(decoded->requests[3] == 11);
  CHECK(decoded->indications[4] == 12);
  CHECK_FALSE(dcb::decode_answer(bytes, 8));
  for (std::size_t length = 0; length < bytes.size(); ++length) CHECK_FALSE(dcb::decode_answer(std::span(bytes).first(length), 7));
}

TEST_CASE("the loopback device has no statistics and no DCB, and a device that is not there is gone: the kernel says so itself") {
  const auto kernel = kernel_netdev_calls();
  CHECK(means_absent(kernel->statistics_names("lo").error().code));
  CHECK(means_absent(kernel->pfc("lo").error().code));
  CHECK(means_gone(kernel->statistics("no_such_if").error().code));
  CHECK(kernel->statistics_names("a_name_that_is_too_long").error().code == ENAMETOOLONG);
}
