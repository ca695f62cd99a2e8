// SPDX-License-Identifier: Apache-2.0
// From files to alerts: a tree as sysfs would show it, the sources that read it, and the rules that are shipped, on virtual time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "rules/engine.hpp"
#include "sources/host.hpp"
#include "support/command.hpp"
#include "support/tree.hpp"
#include "support/virtual_reactor.hpp"

using namespace rdmend;
using namespace std::chrono_literals;
using Alerts = std::set<std::string>;

namespace {

const std::vector<std::string> kDevices{"flaps", "noisy", "retrains", "quiet"};

struct Watched {
  Watched() {
    int guid = 1000;
    for (const auto& name : kDevices) {
      tree.files("class/infiniband/" + name, {{"fw_ver", "28.39.1002"}, {"node_type", "1: CA"}});
      tree.file("class/infiniband/" + name + "/node_guid", "b8ce:f603:0000:" + std::to_string(++guid));
      tree.files(port(name), {{"state", "4: ACTIVE"}, {"phys_state", "5: LinkUp"}, {"rate", "100 Gb/sec (4X EDR)"}, {"link_layer", "InfiniBand"}});
      tree.files(port(name) + "/counters", {{"link_downed", "11"}, {"link_error_recovery", "5"}, {"symbol_error", "500"}, {"port_rcv_errors", "0"}});
    }
    rules::EngineOptions options;
    engine.load(shipped(), options, loop.now());
    sources::Options from;
    from.sysfs = tree.path();
    from.proc = tree.path() + "/proc";
    from.live = false;
    host.emplace(loop, from, sources::Sinks{[this](const Batch& batch) { take(batch); }, [](const Event&) {}, [](const QpDump&) {}});
    host->start();
    REQUIRE(loop.run_until([&] { return readings.size() == kDevices.size(); }));
  }
  static std::string port(const std::string& device) { return "class/infiniband/" + device + "/ports/1"; }
  static std::vector<rules::Group> shipped() {
    std::vector<rules::Group> out;
    Diagnostics diagnostics;
    for (const auto& entry : std::filesystem::directory_iterator(RDMEND_SOURCE_DIR "/config/rules.d"))
      for (auto& group : rules::parse_rule_file(entry.path().filename(), test::slurp(entry.path()), diagnostics)) out.push_back(std::move(group));
    CHECK(diagnostics.text().empty());
    REQUIRE(out.size() > 5);
    return out;
  }
  void take(const Batch& batch) {
    if (batch.scope.starts_with("device/") && !batch.last) ++readings[batch.scope];
    store.ingest(batch);
  }
  void count(const std::string& device, const std::string& counter, int value) const { tree.file(port(device) + "/counters/" + counter, std::to_string(value)); }
  void state(const std::string& device, const std::string& state) const { tree.file(port(device) + "/state", state); }

  // Second by second: every device is read, then the rules that are due are evaluated.
  void pass(seconds span) {
    for (auto left = span; left > 0s; left -= 1s) {
      const auto before = readings;
      loop.advance(1s);
      const bool all = loop.run_until([&] { return std::all_of(before.begin(), before.end(), [&](const auto& one) { return readings[one.first] > one.second; }); });
      REQUIRE(all);
      engine.step(loop.now());
    }
  }
  [[nodiscard]] Alerts firing() const {
    Alerts out;
    for (const auto& alert : engine.alerts())
      if (alert.state == AlertState::firing) out.insert(alert.rule + " " + std::string(alert.labels.get("device")) + "/" + std::string(alert.labels.get("port")));
    return out;
  }

  test::Tree tree;
  test::VirtualReactor loop;
  store::Store store{{.retention = 2h}};
  rules::Engine engine{store, {}};
  std::map<std::string, int> readings;  // of each device
  std::optional<sources::Host> host;
};

}  // namespace

TEST_CASE("C8: link flaps and errors that counters/ tells raise the shipped alerts, each for its own port, and have an end") {
  Watched w;
  w.pass(60s);
  CHECK(w.firing().empty());  // what was counted before, however much, is no news

  for (int flap = 1; flap <= 3; ++flap) {
    w.state("flaps", "1: DOWN");
    w.count("flaps", "link_downed", 11 + flap);
    w.pass(2s);
    w.state("flaps", "4: ACTIVE");
    w.pass(18s);
  }
  w.count("noisy", "symbol_error", 600);
  w.count("retrains", "link_error_recovery", 9);
  w.count("quiet", "symbol_error", 505);
  w.count("quiet", "link_downed", 12);
  w.pass(30s);
  CHECK(w.firing() == Alerts{"RdmaLinkErrors retrains/1", "RdmaPortFlapping flaps/1"});
  w.pass(60s);  // a signal that is bad has to be so for a minute
  CHECK(w.firing() == Alerts{"RdmaBitErrors noisy/1", "RdmaLinkErrors retrains/1", "RdmaPortFlapping flaps/1"});
  w.pass(12min);
  CHECK(w.firing().empty());
}
