// SPDX-License-Identifier: Apache-2.0
// A peer's ARP entry that fails, from the kernel's notification to the mended entry: the source, the executor, the hand's route netlink
// and the kernel are the real ones, in network namespaces of their own; an RDMA device is not needed for it.
#include <net/if.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "rdmend/loop.hpp"
#include "rdmend/processes.hpp"
#include "rdmend/qp_table.hpp"
#include "rdmend/units.hpp"
#include "remedies/executor.hpp"
#include "route_netlink.hpp"
#include "sources/neighbours.hpp"
#include "support/own_network.hpp"
#include "support/temp_directory.hpp"
#include "support/until.hpp"

using namespace rdmend;

namespace {

// The hand without its process: what it is asked and answers goes through the wire's bytes all the same.
class NearHand : public remedies::Hand {
 public:
  explicit NearHand(Reactor& loop) : loop_(loop), netlink_(std::move(*hand::RouteNetlink::open(true))) {}
  void request(wire::HandRequest request, milliseconds, std::function<void(Result<wire::HandReply>)> done) override {
    const auto asked = wire::decode_request(*wire::encode(request));
    const auto told = wire::decode_reply(*wire::encode(netlink_.answer(*asked)));
    loop_.post([told, done = std::move(done)] { done(told); });
  }
  [[nodiscard]] std::string unavailable() const override { return {}; }

 private:
  Reactor& loop_;
  hand::RouteNetlink netlink_;
};

class KnownNeighbours : public remedies::Neighbours {
 public:
  explicit KnownNeighbours(const sources::Neighbours& source) : source_(source) {}
  [[nodiscard]] std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const override { return source_.of(device, port); }

 private:
  const sources::Neighbours& source_;
};

// The peer at the other end of the wire, in a namespace of its own, which answers ARP while it is up.
class PeerHost {
 public:
  PeerHost() : name_("rdmend-peer-" + std::to_string(getpid())) {
    made_ = test::run_command("ip netns add " + name_ + " && ip link set vb netns " + name_ + " && ip -n " + name_ +
                              " addr add 10.9.0.2/24 dev vb && ip -n " + name_ + " link set vb up 2>&1")
                .status == 0;
  }
  ~PeerHost() { test::run_command("ip netns del " + name_ + " 2>&1"); }
  PeerHost(const PeerHost&) = delete;
  PeerHost& operator=(const PeerHost&) = delete;
  void answers(bool yes) const { REQUIRE(test::run_command("ip -n " + name_ + " link set vb arp " + (yes ? "on" : "off") + " 2>&1").status == 0); }
  [[nodiscard]] bool made() const { return made_; }

 private:
  std::string name_;
  bool made_ = false;
};

sources::Options options_in(const test::TempDirectory& tree) {
  std::filesystem::create_directories(tree.path() + "/class/net/va");
  test::write_file(tree.path() + "/class/net/va/ifindex", std::to_string(if_nametoindex("va")) + "\n");
  sources::Options out;
  out.sysfs = tree.path();
  return out;
}

config::Config acting() {
  config::Config out;
  out.mode = config::Mode::act;
  out.remedies.allow = {"refresh_neighbour"};
  out.remedies.settle = seconds{4};
  return out;
}

struct MendBench {
  MendBench() {
    sinks.batch = [](const Batch&) {};
    sinks.event = [this](const Event& event) { events.push_back(event.kind); };
    source.start();
    QpDump dump;
    dump.device = "rxe1";
    dump.qps.resize(1);
    dump.qps[0].port = 1;
    dump.qps[0].state = static_cast<std::uint8_t>(QpState::rts);
    dump.qps[0].peer = "10.9.0.2";
    source.take(dump);
    source.tick({{"rxe1", "1", "va"}});
  }
  [[nodiscard]] std::uint16_t state() const {
    for (const auto& one : source.of("rxe1", "1"))
      if (one.entry.address == "10.9.0.2") return one.entry.state;
    return 0;
  }
  void fire() {
    Alert alert;
    alert.rule = "RdmaPeerUnresolved";
    alert.state = AlertState::firing;
    alert.labels = {{"alertname", "RdmaPeerUnresolved"}, {"device", "rxe1"}, {"port", "1"}, {"netdev", "va"}, {"neighbour", "10.9.0.2"}};
    alert.remedy = std::make_shared<const std::vector<RemedySpec>>(std::vector{RemedySpec{"refresh_neighbour", "rules.yaml", {1, 1}, {}}});
    const Decision decision{loop.now().wall, AlertState::pending, std::move(alert)};
    executor.on_decisions({&decision, 1}, loop.now());
  }
  [[nodiscard]] std::string said(Verdict verdict) const {
    for (const auto& entry : journal.recent(100))
      if (entry.verdict == verdict) return entry.reason;
    return {};
  }

  test::TempDirectory tree, directory;
  daemon::Loop loop;
  store::Store store{{}};
  sources::Sinks sinks;
  std::vector<std::string> events;
  sources::Neighbours source{loop, options_in(tree), sinks};
  KnownNeighbours neighbours{source};
  NearHand near{loop};
  daemon::ChildProcesses processes{loop};
  daemon::QpTable qps{loop, [](const std::string&) {}};
  daemon::SystemdUnits units{loop, ""};
  journal::Journal journal{loop, directory.path()};
  remedies::Executor executor{remedies::Environment{loop, store, near, processes, qps, units, neighbours}, journal, acting()};
};

constexpr auto kFailedState = static_cast<std::uint16_t>(NeighbourState::failed);
constexpr auto kReachableState = static_cast<std::uint16_t>(NeighbourState::reachable);

}  // namespace

TEST_CASE("a peer's entry that failed is resolved again by the remedy, or is said not to be") {
  if (!test::own_network()) {
    WARN("no network namespace of its own can be made: needs root");
    return;
  }
  static const PeerHost peer;
  if (!peer.made()) {
    WARN("no network namespace for a peer can be made");
    return;
  }
  peer.answers(true);
  // The kernel asks three times; a second apart, a busy machine would find its entry not yet failed when it looks.
  REQUIRE(test::run_command("ip ntable change name arp_cache dev va retrans 100 2>&1").status == 0);
  REQUIRE(test::neighbour("replace 10.9.0.2 lladdr 02:00:00:00:09:99 dev va nud reachable"));
  MendBench bench;
  REQUIRE(test::until(bench.loop, [&] { return bench.state() == kReachableState; }));
  SECTION("the peer answers") {
    REQUIRE(test::neighbour("change 10.9.0.2 dev va nud failed"));
    REQUIRE(test::until(bench.loop, [&] { return bench.state() == kFailedState; }));
    bench.fire();
    REQUIRE(test::until(bench.loop, [&] { return bench.state() == kReachableState; }));
    REQUIRE(test::until(bench.loop, [&] { return !bench.said(Verdict::succeeded).empty(); }));
    CHECK(bench.said(Verdict::started) == "was failed: the kernel resolves it again");
    CHECK(bench.said(Verdict::succeeded).starts_with("10.9.0.2 on va is "));
    CHECK(bench.events == std::vector<std::string>{"neighbour_failed", "neighbour_moved"});  // the link address above was a lie
  }
  SECTION("a resolved entry whose owner has gone is found out, and failed") {
    peer.answers(false);
    bench.fire();
    REQUIRE(test::until(bench.loop, [&] { return bench.state() == kFailedState; }));
    REQUIRE(test::until(bench.loop, [&] { return !bench.said(Verdict::ineffective).empty(); }));
    CHECK(bench.said(Verdict::started) == "was reachable: the kernel resolves it again");
    CHECK(bench.said(Verdict::ineffective) == "10.9.0.2 on va is failed");
  }
}
