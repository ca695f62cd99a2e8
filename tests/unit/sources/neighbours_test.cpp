// SPDX-License-Identifier: Apache-2.0
// The neighbours of the RDMA ports: messages, what is made of them, and the real thing in a network namespace of its own.
#include "sources/neighbours.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "rdmend/loop.hpp"
#include "support/own_network.hpp"
#include "support/temp_directory.hpp"
#include "support/until.hpp"

using namespace rdmend;
using namespace rdmend::sources;

namespace {

using Bytes = std::vector<std::byte>;
constexpr auto kReachable = static_cast<std::uint16_t>(NeighbourState::reachable);
constexpr auto kFailed = static_cast<std::uint16_t>(NeighbourState::failed);
constexpr auto kIncomplete = static_cast<std::uint16_t>(NeighbourState::incomplete);

// A message as the kernel makes it.
struct NeighbourMessage {
  std::uint16_t type = RTM_NEWNEIGH, state = NUD_REACHABLE;
  std::uint32_t index = 3;
  std::string address = "10.0.0.2";
  Bytes link{std::byte{2}, std::byte{0}, std::byte{0xa}, std::byte{0}, std::byte{0}, std::byte{2}};
  std::uint8_t kind = RTN_UNICAST, flags = 0;
  std::uint32_t sequence = 0;

  [[nodiscard]] Bytes bytes() const {
    Bytes buffer(512);
    auto* header = mnl_nlmsg_put_header(buffer.data());
    header->nlmsg_type = type;
    header->nlmsg_seq = sequence;
    auto* fixed = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ndmsg)));
    const bool v6 = address.find(':') != std::string::npos;
    fixed->ndm_family = static_cast<std::uint8_t>(v6 ? AF_INET6 : AF_INET);
    fixed->ndm_ifindex = static_cast<int>(index);
    fixed->ndm_state = state;
    fixed->ndm_flags = flags;
    fixed->ndm_type = kind;
    char raw[16] = {};
    inet_pton(fixed->ndm_family, address.c_str(), raw);
    mnl_attr_put(header, NDA_DST, v6 ? 16 : 4, raw);
    if (!link.empty()) mnl_attr_put(header, NDA_LLADDR, link.size(), link.data());
    mnl_attr_put_u32(header, NDA_PROBES, 1);
    buffer.resize(header->nlmsg_len);
    return buffer;
  }
};

std::vector<rtneigh::Change> heard(const Bytes& datagram, std::optional<std::uint32_t> sequence = std::nullopt) {
  std::vector<rtneigh::Change> out;
  const auto progress = rtneigh::for_each(datagram, sequence, [](std::uint32_t index) { return index == 3; }, [&](rtneigh::Change change) { out.push_back(std::move(change)); });
  if (!progress) out.clear();
  return out;
}

const NeighbourPort kPort{"rxe1", "1", "eth1"};

Neighbour entry(std::uint16_t state, std::string link = "02:00:0a:00:00:02", std::string address = "10.0.0.2") {
  return {3, std::move(address), state, neighbour_resolved(state) ? std::move(link) : ""};
}
NeighbourReading reading(std::vector<Neighbour> entries) { return {0, {{3, "eth1", kPort}}, std::move(entries), false}; }

QpDump dump_of(const std::string& peer, QpState state = QpState::rts, std::size_t count = 1) {
  QpDump dump;
  dump.device = "rxe1";
  for (std::size_t i = 0; i < count; ++i) {
    QpInfo qp;
    qp.port = 1;
    qp.state = static_cast<std::uint8_t>(state);
    qp.peer = peer;
    dump.qps.push_back(qp);
  }
  return dump;
}

std::map<std::string, double> series(const NeighbourTable& table) {
  std::map<std::string, double> out;
  for (const auto& scope : table.scopes())
    for (const auto& sample : scope.samples) out[sample.labels.text()] = sample.value;
  return out;
}

std::vector<std::string> told(const std::vector<NeighbourTable::Turn>& turns) {
  std::vector<std::string> out;
  for (const auto& turn : turns) out.push_back(turn.kind + ": " + turn.detail);
  return out;
}
using Told = std::vector<std::string>;

const std::string kOf = R"({device="rxe1",neighbour="10.0.0.2",netdev="eth1",port="1"})";
std::string named(const std::string& metric, const std::string& labels = kOf) { return metric + labels; }

}  // namespace

TEST_CASE("neighbours are told by address, link address and state, IPv4 and IPv6") {
  auto changes = heard(NeighbourMessage{}.bytes());
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].entry == Neighbour{3, "10.0.0.2", kReachable, "02:00:0a:00:00:02"});
  CHECK_FALSE(changes[0].gone);
  NeighbourMessage v6;
  v6.address = "fe80::2";
  v6.type = RTM_DELNEIGH;
  changes = heard(v6.bytes());
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].entry.address == "fe80::2");
  CHECK(changes[0].gone);
  NeighbourMessage failed;
  failed.state = NUD_FAILED;  // the kernel tells no link address then; one that it would tell is not believed
  CHECK(heard(failed.bytes()).at(0).entry == Neighbour{3, "10.0.0.2", kFailed, ""});
  NeighbourMessage own;
  own.kind = RTN_LOCAL;  // of another port of this host
  CHECK(heard(own.bytes()).size() == 1);
  NeighbourMessage fixed;
  fixed.state = NUD_NOARP;  // never resolved
  CHECK(heard(fixed.bytes()).at(0).gone);
}

TEST_CASE("what is no neighbour of ours is passed over: other devices, families, groups, proxies and messages") {
  for (int what = 0; what < 6; ++what) {
    NeighbourMessage message;
    if (what == 0) message.index = 4;
    if (what == 1) message.index = 0;
    if (what == 2) message.kind = RTN_MULTICAST;
    if (what == 3) message.flags = NTF_PROXY;
    if (what == 4) message.type = RTM_NEWROUTE;
    auto bytes = message.bytes();
    if (what == 5) bytes[sizeof(nlmsghdr)] = std::byte{AF_BRIDGE};
    INFO(what);
    CHECK(heard(bytes).empty());
  }
}

TEST_CASE("a dump has its sequence number, an end, and may fail") {
  NeighbourMessage message;
  message.sequence = 7;
  auto datagram = message.bytes();
  message.sequence = 6;  // what was left of an earlier one
  const auto late = message.bytes();
  datagram.insert(datagram.end(), late.begin(), late.end());
  CHECK(heard(datagram, 7).size() == 1);
  const auto done = [&](std::int32_t code) {
    Bytes bytes(64);
    auto* header = mnl_nlmsg_put_header(bytes.data());
    header->nlmsg_type = NLMSG_DONE;
    header->nlmsg_seq = 7;
    std::memcpy(mnl_nlmsg_put_extra_header(header, sizeof code), &code, sizeof code);
    bytes.resize(header->nlmsg_len);
    return rtneigh::for_each(bytes, 7, [](std::uint32_t) { return true; }, [](const rtneigh::Change&) {});
  };
  REQUIRE(done(0));
  CHECK(*done(0) == rtneigh::Progress::done);
  REQUIRE_FALSE(done(-EBUSY));
  CHECK(done(-EBUSY).error().code == EBUSY);
}

TEST_CASE("messages about neighbours that are cut short, lie about lengths or are noise do no harm") {
  const auto whole = NeighbourMessage{}.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(heard(cut).empty());  // longer than its datagram
    if (length < sizeof(nlmsghdr)) continue;
    const auto says = static_cast<std::uint32_t>(length);
    std::memcpy(cut.data(), &says, sizeof says);
    for (const auto& change : heard(cut)) CHECK(change.entry.address == "10.0.0.2");
  }
  std::mt19937 random(4711);
  for (int round = 0; round < 20'000; ++round) {
    auto noise = whole;
    for (int i = 0; i < 4; ++i) noise[random() % noise.size()] = static_cast<std::byte>(random());
    noise.resize(random() % (noise.size() + 1));
    for (const auto& change : heard(noise)) {
      CHECK(change.entry.address.size() < INET6_ADDRSTRLEN);
      CHECK(change.entry.link_address.size() <= 32 * 3);
    }
  }
  NeighbourMessage wide;
  wide.link.assign(200, std::byte{1});  // longer than any link address
  CHECK(heard(wide.bytes()).at(0).entry.link_address.empty());
  NeighbourMessage infiniband;
  infiniband.link.assign(20, std::byte{0xfe});
  CHECK(heard(infiniband.bytes()).at(0).entry.link_address.size() == 59);
}

TEST_CASE("an entry that fails is counted, told for those that queue pairs lead to, and told again when it answers") {
  NeighbourTable table;
  CHECK(table.replace(reading({entry(kReachable)})).empty());
  table.take(dump_of("10.0.0.2", QpState::rts, 3));
  CHECK(series(table) == std::map<std::string, double>{
                             {named("rdma_neighbour_state"), 2},
                             {named("rdma_neighbour_queue_pairs"), 3},
                             {named("rdma_neighbour_moves_total"), 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="incomplete"})", 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="reachable"})", 1},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="stale"})", 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="delay"})", 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="probe"})", 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="failed"})", 0},
                             {R"(rdma_neighbours{device="rxe1",port="1",state="permanent"})", 0},
                             {R"(rdma_neighbour_failures_total{device="rxe1",port="1"})", 0},
                             {R"(rdma_neighbours_truncated{device="rxe1",port="1"})", 0}});
  CHECK(told(table.apply({entry(kFailed)})) == Told{"neighbour_failed: 10.0.0.2 on eth1, to which 3 queue pairs lead: nobody answers for it"});
  CHECK(table.apply({entry(kFailed)}).empty());
  CHECK(table.apply({entry(kIncomplete)}).empty());
  CHECK(series(table)[named("rdma_neighbour_state")] == 1);
  CHECK(told(table.apply({entry(kReachable)})) == Told{"neighbour_resolved: 10.0.0.2 on eth1, to which 3 queue pairs lead: it is 02:00:0a:00:00:02"});
  CHECK(series(table)[R"(rdma_neighbour_failures_total{device="rxe1",port="1"})"] == 1);
  CHECK(table.apply({entry(kReachable), true}).empty());
  CHECK_FALSE(series(table).contains(named("rdma_neighbour_state")));
}

TEST_CASE("an address that another link address answers for has moved, whatever lay between") {
  NeighbourTable table;
  table.take(dump_of("::ffff:10.0.0.2"));  // as an IPv6 socket's
  table.replace(reading({entry(kReachable)}));
  CHECK(told(table.apply({entry(kReachable, "02:00:0a:00:00:03")})) ==
        Told{"neighbour_moved: 10.0.0.2 on eth1, to which 1 queue pair leads: it was 02:00:0a:00:00:02, it is 02:00:0a:00:00:03"});
  table.apply({entry(kFailed)});
  CHECK(told(table.replace(reading({entry(kReachable, "02:00:0a:00:00:04")}))).at(0) ==
        "neighbour_moved: 10.0.0.2 on eth1, to which 1 queue pair leads: it was 02:00:0a:00:00:03, it is 02:00:0a:00:00:04");
  CHECK(series(table)[named("rdma_neighbour_moves_total")] == 2);
}

TEST_CASE("queue pairs lead to an address from RTR on, on their own port, and no longer once they are in error") {
  NeighbourTable table;
  table.replace(reading({entry(kReachable)}));
  const auto count = [&](const QpDump& dump) {
    table.take(dump);
    return series(table)[named("rdma_neighbour_queue_pairs")];
  };
  CHECK(count(dump_of("10.0.0.2", QpState::rtr)) == 1);
  CHECK(count(dump_of("10.0.0.2", QpState::init)) == 0);
  CHECK(count(dump_of("10.0.0.2", QpState::err)) == 0);
  CHECK(count(dump_of("10.0.0.3")) == 0);
  CHECK(count(dump_of("")) == 0);
  auto other_port = dump_of("10.0.0.2");
  other_port.qps[0].port = 2;
  CHECK(count(other_port) == 0);
  CHECK(count(dump_of("10.0.0.2")) == 1);
  table.forget("rxe1");
  CHECK(table.scopes().empty());
  CHECK_FALSE(table.watches(3));
}

TEST_CASE("what was notified while a reading was under way is newer than it, and counts once") {
  NeighbourTable table;
  table.take(dump_of("10.0.0.2"));
  table.replace(reading({entry(kReachable)}));
  const std::vector<rtneigh::Change> meanwhile{{entry(kFailed)}, {entry(kReachable, "02:00:00:00:00:09", "10.0.0.9")}, {entry(kReachable, "02:00:00:00:00:08", "10.0.0.8"), true}};
  for (const auto& change : meanwhile) table.apply(change);
  CHECK(table.replace(reading({entry(kReachable), entry(kReachable, "02:00:00:00:00:08", "10.0.0.8")}), meanwhile).empty());
  const auto now = table.of("rxe1", "1");
  REQUIRE(now.size() == 2);
  CHECK(now[0].entry == entry(kFailed));
  CHECK(now[0].qps == 1);
  CHECK(now[1].entry.address == "10.0.0.9");
  CHECK(series(table)[R"(rdma_neighbour_failures_total{device="rxe1",port="1"})"] == 1);
  CHECK(table.of("rxe1", "2").empty());
}

TEST_CASE("the table of neighbours is bounded, and says so") {
  NeighbourTable table;
  table.replace(reading({}));
  for (std::size_t i = 0; i < kMostNeighbours + 10; ++i)
    table.apply({entry(kReachable, "02:00:00:00:00:01", fmt::format("10.{}.{}.1", i / 256, i % 256))});
  CHECK(table.of("rxe1", "1").size() == kMostNeighbours);
  CHECK(series(table)[R"(rdma_neighbours_truncated{device="rxe1",port="1"})"] == 1);
  CHECK(table.apply({{4, "10.0.0.2", kReachable, "02:00:00:00:00:01"}}).empty());  // not a network device of ours
  table.replace(reading({entry(kReachable)}));
  CHECK(series(table)[R"(rdma_neighbours_truncated{device="rxe1",port="1"})"] == 0);
}

// --- the kernel's, in a network namespace of its own ---

namespace {

struct NeighbourSite {
  NeighbourSite() {
    for (const std::string name : {"va", "vb"}) {
      std::filesystem::create_directories(tree.path() + "/class/net/" + name);
      test::write_file(tree.path() + "/class/net/" + name + "/ifindex", std::to_string(if_nametoindex(name.c_str())) + "\n");
    }
    options.sysfs = tree.path();
    options.counters_interval = std::chrono::hours{1};  // so that only a notification can tell
    sinks.batch = [this](const Batch& batch) { take(batch); };
    sinks.event = [this](const Event& event) { events.push_back(event.kind + ": " + event.detail); };
    test::run_command("ip neigh flush all nud all");
  }
  void begin(std::vector<NeighbourPort> ports = {{"rxe1", "1", "va"}}) {
    neighbours = std::make_unique<Neighbours>(loop, options, sinks);
    neighbours->start();
    neighbours->take(dump_of("10.9.0.2"));
    neighbours->tick(std::move(ports));
  }
  [[nodiscard]] double state(const std::string& address = "10.9.0.2", const std::string& netdev = "va") const {
    const auto at = values.find(fmt::format(R"(rdma_neighbour_state{{device="rxe1",neighbour="{}",netdev="{}",port="1"}})", address, netdev));
    return at == values.end() ? -1 : at->second;
  }
  bool becomes(double wanted, const std::string& address = "10.9.0.2", const std::string& netdev = "va") {
    return test::until(loop, [&] { return state(address, netdev) == wanted; });
  }
  void take(const Batch& batch) {
    values.clear();
    urgent += batch.urgent ? 1 : 0;
    ended += batch.last ? 1 : 0;
    for (const auto& sample : batch.samples) values[sample.labels.text()] = sample.value;
  }

  test::TempDirectory tree;
  daemon::Loop loop;
  Options options;
  Sinks sinks;
  std::map<std::string, double> values;
  std::vector<std::string> events;
  int urgent = 0, ended = 0;
  std::unique_ptr<Neighbours> neighbours;
};

#define NEEDS_A_NETWORK()                                             \
  if (!test::own_network()) {                                         \
    WARN("no network namespace of its own can be made: needs root"); \
    return;                                                           \
  }

}  // namespace

TEST_CASE("the kernel's entries are read at the start, and what becomes of a peer's is heard at once") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  REQUIRE(test::neighbour("add 10.9.0.2 lladdr 02:00:00:00:09:02 dev va nud reachable"));
  REQUIRE(test::neighbour("add fd09::2 lladdr 02:00:00:00:09:02 dev va nud permanent"));
  REQUIRE(test::neighbour("add 10.9.0.3 lladdr 02:00:00:00:09:03 dev vb nud reachable"));
  site.begin();
  REQUIRE(site.becomes(2));
  CHECK(site.state("fd09::2") == 128);
  CHECK(site.state("10.9.0.3") == -1);  // on another network device
  CHECK(site.values.at(R"(rdma_neighbour_queue_pairs{device="rxe1",neighbour="10.9.0.2",netdev="va",port="1"})") == 1);
  CHECK(site.urgent == 0);

  REQUIRE(test::neighbour("change 10.9.0.2 dev va nud failed"));
  REQUIRE(site.becomes(32));
  CHECK(site.urgent == 1);
  CHECK(site.events == Told{"neighbour_failed: 10.9.0.2 on va, to which 1 queue pair leads: nobody answers for it"});
  REQUIRE(test::neighbour("change 10.9.0.2 lladdr 02:00:00:00:09:07 dev va nud reachable"));
  REQUIRE(site.becomes(2));
  CHECK(site.events.back() == "neighbour_moved: 10.9.0.2 on va, to which 1 queue pair leads: it was 02:00:00:00:09:02, it is 02:00:00:00:09:07");
  REQUIRE(test::neighbour("del 10.9.0.2 dev va"));
  REQUIRE(test::until(site.loop, [&] { return site.neighbours->of("rxe1", "1").size() == 1; }));
}

TEST_CASE("a device that goes takes its neighbours' series along at once, though they are being read") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  REQUIRE(test::neighbour("add 10.9.0.2 lladdr 02:00:00:00:09:02 dev va nud reachable"));
  site.begin();
  REQUIRE(site.becomes(2));
  site.neighbours->tick({{"rxe1", "1", "va"}, {"rxe9", "1", "vb"}});  // reads again
  site.neighbours->forget("rxe1");
  CHECK(site.ended == 1);
  CHECK(site.values.empty());
  REQUIRE(test::until(site.loop, [&] { return site.values.contains(R"(rdma_neighbours_truncated{device="rxe9",port="1"})"); }));
  CHECK(site.neighbours->of("rxe1", "1").empty());
  CHECK(site.ended == 1);
}

TEST_CASE("network devices above the port's are looked at too; a port that goes takes its series along") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  std::filesystem::create_directories(site.tree.path() + "/class/net/va/upper_vb");  // as if vb were a VLAN on va
  std::filesystem::create_directories(site.tree.path() + "/class/net/vb/upper_va");  // a circle ends
  REQUIRE(test::neighbour("add 10.9.0.3 lladdr 02:00:00:00:09:03 dev vb nud reachable"));
  site.begin();
  REQUIRE(site.becomes(2, "10.9.0.3", "vb"));
  site.neighbours->tick({});
  CHECK(site.ended == 1);
  CHECK(site.values.empty());
  site.neighbours->tick({{"rxe1", "1", "nowhere"}});
  CHECK_FALSE(site.loop.run_until([&] { return !site.values.empty(); }, milliseconds{100}));
}

TEST_CASE("neighbours that cannot be read are stale, as long as there is a port that has any") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  site.options.sysfs = site.tree.path() + "/nothing";
  site.begin();
  CHECK(test::until(site.loop, [&] { return site.neighbours->stale(); }));
  CHECK(site.values.empty());
  site.neighbours->tick({});
  CHECK_FALSE(site.neighbours->stale());
}

TEST_CASE("what was being resolved when it was read, and then is, is told at the next tick") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  REQUIRE(test::neighbour("replace 10.9.0.7 lladdr 02:00:00:00:09:07 dev va nud reachable"));
  REQUIRE(test::neighbour("change 10.9.0.7 dev va nud failed"));
  site.begin();
  REQUIRE(site.becomes(32, "10.9.0.7"));  // no queue pair leads there
  REQUIRE(test::neighbour("change 10.9.0.7 lladdr 02:00:00:00:09:07 dev va nud reachable"));
  REQUIRE(test::until(site.loop, [&] {
    site.neighbours->tick({{"rxe1", "1", "va"}});
    return site.state("10.9.0.7") == 2;
  }));
  REQUIRE(test::neighbour("change 10.9.0.7 dev va nud failed"));
  REQUIRE(test::until(site.loop, [&] { return site.neighbours->of("rxe1", "1").at(0).entry.state == 32; }));
  REQUIRE(test::neighbour("del 10.9.0.7 dev va"));
  REQUIRE(test::until(site.loop, [&] {
    site.neighbours->tick({{"rxe1", "1", "va"}});
    return site.state("10.9.0.7") == -1;
  }));
  CHECK(site.urgent == 0);
}

TEST_CASE("when the kernel drops messages about neighbours, all are read again") {
  NEEDS_A_NETWORK();
  NeighbourSite site;
  site.begin();
  REQUIRE(test::until(site.loop, [&] { return !site.values.empty(); }));
  // More than the socket holds, while nobody reads.
  constexpr int kMany = 3000;
  std::string batch;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kMany; ++i) batch += fmt::format("neigh replace 10.9.{}.{} lladdr 02:00:00:00:{:02x}:0{} dev va nud permanent\n", 1 + i / 250, 1 + i % 250, i % 256, round);
  test::write_file(site.tree.path() + "/batch", batch);
  REQUIRE(test::run_command("ip -batch " + site.tree.path() + "/batch 2>&1").status == 0);
  REQUIRE(test::until(site.loop, [&] {
    site.neighbours->tick({{"rxe1", "1", "va"}});
    return site.values[R"(rdma_neighbours{device="rxe1",port="1",state="permanent"})"] == kMany;
  }));
  for (const auto& one : site.neighbours->of("rxe1", "1")) REQUIRE(one.entry.link_address.ends_with(":02"));
}
