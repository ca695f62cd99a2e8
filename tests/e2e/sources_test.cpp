// SPDX-License-Identifier: Apache-2.0
// The sources on a real kernel: rxe1 on v1 and rxe2 on v2, joined by a wire. Each case begins with a Host of its own.
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "rdmend/loop.hpp"
#include "sources/host.hpp"
#include "support/child.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

std::string contents(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path) >> std::ws, text);
  return text;
}

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }  // NOLINT(concurrency-mt-unsafe)

class Site {
 public:
  Site() {
    options.sysfs = "/sys";
    options.proc = "/proc";
    options.interval = 200ms;
    options.qp_interval = 1s;
    host = std::make_unique<Host>(loop, options, Sinks{[this](Batch batch) { take(batch); }, [this](Event event) { events.push_back(std::move(event)); },
                                                       [this](QpDump dump) { dumps[dump.device] = std::move(dump); }});
    host->start();
  }
  bool until(const std::function<bool()>& condition, milliseconds bound = 20s) { return loop.run_until(condition, bound); }
  bool listening(const std::string& device) {
    return until([&] { return value("rdma_async_events_total{device=\"" + device + "\",event=\"PORT_ERR\",port=\"1\"}").has_value(); });
  }
  [[nodiscard]] std::optional<double> value(const std::string& series) const {
    const auto known = values.find(series);
    return known == values.end() ? std::nullopt : std::optional(known->second);
  }
  [[nodiscard]] double event_count(const std::string& event, const std::string& device = "rxe1") const {
    return value("rdma_async_events_total{device=\"" + device + "\",event=\"" + event + "\",port=\"1\"}").value_or(-1);
  }
  [[nodiscard]] bool told(const std::string& device, const std::string& kind) const {
    return std::any_of(events.begin(), events.end(), [&](const Event& event) { return event.device == device && event.kind == kind; });
  }
  // Runs a command beside the loop, as an administrator would; its time, or nullopt when it failed or took longer than 20 s.
  std::optional<milliseconds> beside(const std::string& command) {
    std::atomic<int> done = 0;
    const auto begin = std::chrono::steady_clock::now();
    std::thread other([&] { done = run(command) ? 1 : 2; });
    const bool ended = until([&] { return done != 0; });
    const auto time = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    if (!ended) host.reset();  // lets go of everything, so that the command can end
    other.join();
    return ended && done == 1 ? std::optional(time) : std::nullopt;
  }

  daemon::Loop loop;
  Options options;
  std::map<std::string, double> values;
  std::vector<Event> events;
  std::vector<std::pair<std::string, Instant>> urgent;
  std::map<std::string, QpDump> dumps;
  std::unique_ptr<Host> host;

 private:
  void take(const Batch& batch) {
    if (batch.urgent) urgent.emplace_back(batch.scope, loop.now().mono);
    std::set<std::string> now;
    for (const auto& sample : batch.samples) {
      values[sample.labels.text()] = sample.value;
      now.insert(sample.labels.text());
    }
    for (const auto& name : scopes_[batch.scope])
      if (!now.contains(name)) values.erase(name);
    scopes_[batch.scope] = std::move(now);
  }
  std::map<std::string, std::set<std::string>> scopes_;
  // run_until() looks at its condition when something happened: this makes something happen.
  Reactor::Handle look_ = loop.every(5ms, [] {});
};

}  // namespace

TEST_CASE_METHOD(Site, "counters come through netlink and equal those of sysfs; the device is known for what it is") {
  REQUIRE(until([&] { return value(R"(rdma_port_state{device="rxe1",port="1"})") == 4 && value(R"(rdma_port_state{device="rxe2",port="1"})") == 4; }));
  const auto devices = host->devices();
  REQUIRE(devices.size() == 2);
  for (const auto& device : devices) {
    CHECK(device.driver == "rxe");
    CHECK(device.ports == std::vector<std::string>{"1"});
    CHECK_FALSE(device.stale);
    CHECK(device.node_guid == contents("/sys/class/infiniband/" + device.name + "/node_guid"));
  }
  const std::string directory = "/sys/class/infiniband/rxe1/ports/1/hw_counters";
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    const auto name = file.path().filename().string();
    if (name == "lifespan") continue;
    CAPTURE(name);
    // The devices talk a little of their own accord; a value read twice brackets ours.
    CHECK(until([&] { return value("rdma_raw_total{device=\"rxe1\",name=\"" + name + "\",port=\"1\",source=\"netlink\"}") == std::stod(contents(file.path())); }));
    ++compared;
  }
  CHECK(compared >= 15);
  CHECK(value(R"(rdma_packets_sent_total{device="rxe1",port="1"})").has_value());
  CHECK(value(R"(rdma_device_stale{device="rxe1"})") == 0);
  const auto info = std::find_if(values.begin(), values.end(), [](const auto& entry) { return entry.first.starts_with("rdma_port_info{device=\"rxe1\",driver=\"rxe\""); });
  REQUIRE(info != values.end());
  CHECK(info->first.find("netdev=\"v1\"") != std::string::npos);
  CHECK(std::none_of(values.begin(), values.end(), [](const auto& entry) { return entry.first.starts_with("rdma_read_errors_total"); }));
}

TEST_CASE_METHOD(Site, "a port that goes down and up is told by events at once, then by its state") {
  REQUIRE(listening("rxe1"));
  REQUIRE(until([&] { return value(R"(rdma_port_state{device="rxe1",port="1"})") == 4; }));
  CHECK(event_count("PORT_ERR") == 0);
  urgent.clear();
  REQUIRE(beside("ip link set v1 down"));
  REQUIRE(until([&] { return event_count("PORT_ERR") == 1 && value(R"(rdma_port_state{device="rxe1",port="1"})") == 1; }));
  REQUIRE(urgent.size() >= 2);
  CHECK(urgent[0].first == "events/rxe1");
  CHECK(std::any_of(urgent.begin(), urgent.end(), [](const auto& batch) { return batch.first == "port/rxe1/1"; }));
  std::printf("from the event's batch to the state's: %.3f ms\n", std::chrono::duration<double, std::milli>(urgent[1].second - urgent[0].second).count());
  CHECK(told("rxe1", "PORT_ERR"));
  CHECK(event_count("PORT_ERR", "rxe2") == 0);
  REQUIRE(beside("ip link set v1 up && ip route replace 10.0.0.0/24 dev v1 src 10.0.0.1 table 101"));
  REQUIRE(until([&] { return event_count("PORT_ACTIVE") >= 1 && value(R"(rdma_port_state{device="rxe1",port="1"})") == 4; }));
  CHECK(until([&] { return value(R"(rdma_link_downed_total{device="rxe1",port="1"})").value_or(0) >= 1; }));
}

TEST_CASE_METHOD(Site, "events that no cable makes are heard, and the context survives a fatal one") {
  REQUIRE(listening("rxe1"));
  const auto raise = [](int event) {
    std::ofstream port("/sys/kernel/debug/evinject/port");
    port << "rxe1 1 " << event << std::endl;
    return port.good();
  };
  REQUIRE(raise(11));
  REQUIRE(raise(13));
  REQUIRE(raise(17));
  CHECK(until([&] { return event_count("LID_CHANGE") == 1 && event_count("SM_CHANGE") == 1 && event_count("CLIENT_REREGISTER") == 1; }));
  REQUIRE(raise(8));
  CHECK(until([&] { return value(R"(rdma_async_events_total{device="rxe1",event="DEVICE_FATAL"})") == 1; }));
  CHECK(told("rxe1", "DEVICE_FATAL"));
  CHECK(until([&] { return value(R"(rdma_port_state{device="rxe1",port="1"})") == 4; }));
}

TEST_CASE_METHOD(Site, "the queue pairs of every process are seen, with their owner") {
  REQUIRE(until([&] { return dumps.contains("rxe1") && dumps.contains("rxe2"); }));
  CHECK(value(R"(rdma_qps{device="rxe1",state="ERR",type="RC"})") == 0);
  CHECK(value(R"(rdma_qps_stuck_in_error{device="rxe1"})") == 0);
  test::Child server({"ib_send_bw", "-d", "rxe1", "-x", "1", "-D", "8"}, "/tmp/server.log");
  std::unique_ptr<test::Child> client;
  // The client gives up when the server does not listen yet: try again.
  const auto connected = [&] {
    if (!client || client->ended()) client = std::make_unique<test::Child>(std::vector<std::string>{"ib_send_bw", "-d", "rxe2", "-x", "1", "-D", "8", "10.0.0.1"}, "/tmp/client.log");
    host->request_qp_dump("rxe1");
    const auto& qps = dumps["rxe1"].qps;
    return std::any_of(qps.begin(), qps.end(), [&](const QpInfo& qp) { return qp.comm == "ib_send_bw" && qp.pid == static_cast<std::uint32_t>(server.pid()) && qp.state >= 2 && qp.remote_qpn.value_or(0) != 0; });
  };
  REQUIRE(until(connected, 30s));
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& entry) {
    return entry.first.starts_with("rdma_qp_info{comm=\"ib_send_bw\",device=\"rxe1\",pid=\"" + std::to_string(server.pid()) + "\"");
  });
  CHECK(found != values.end());
  CHECK_FALSE(dumps["rxe1"].truncated);
}

TEST_CASE_METHOD(Site, "devices that come, are renamed and go are followed, and going never waits for us") {
  REQUIRE(run("ip link add d1 type veth peer name d2 && ip link set d1 up && ip link set d2 up"));
  REQUIRE(until([&] { return host->devices().size() == 2; }));
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    events.clear();
    REQUIRE(beside("rdma link add soft0 type rxe netdev d1"));
    REQUIRE(until([&] { return told("soft0", "device_added"); }));
    REQUIRE(listening("soft0"));  // it is open now
    REQUIRE(beside("rdma dev set soft0 name soft1"));
    REQUIRE(until([&] { return told("soft1", "device_renamed"); }));
    REQUIRE(listening("soft1"));
    CHECK_FALSE(value(R"(rdma_port_state{device="soft0",port="1"})"));
    const auto time = beside("rdma link del soft1");
    REQUIRE(time);
    CHECK(*time < 5s);
    std::printf("deleting a device that we hold open took %lld ms\n", static_cast<long long>(time->count()));
    REQUIRE(until([&] { return told("soft1", "device_removed"); }));
    CHECK(std::none_of(values.begin(), values.end(), [](const auto& entry) { return entry.first.find("\"soft") != std::string::npos; }));
    CHECK(host->devices().size() == 2);
  }
  // At the worst moment too: while it is being opened.
  for (int round = 0; round < 5; ++round) {
    REQUIRE(beside("rdma link add soft0 type rxe netdev d1"));
    const auto time = beside("rdma link del soft0");
    REQUIRE(time);
    CHECK(*time < 5s);
  }
  REQUIRE(until([&] { return host->devices().size() == 2; }));
}
