// SPDX-License-Identifier: Apache-2.0
// Stories of a peer whose ARP entry has failed, and is resolved again, or is not.
#include "scenarios/story.hpp"

using namespace rdmend;
using namespace rdmend::test;

namespace {

const std::string kRefresh = "refresh_neighbour";

PortNeighbour peer(const std::string& address, NeighbourState state, std::size_t qps = 1) {
  const auto number = static_cast<std::uint16_t>(state);
  return {"rxe2", "1", "eth2", {7, address, number, neighbour_resolved(number) ? "02:00:00:00:00:02" : ""}, qps};
}

Alert of_neighbour(const Story& story, const std::string& address) {
  auto alert = story.alert({Story::step(kRefresh), Story::step("advise", {{"about", "timeout"}})});
  alert.labels = {{"alertname", "RdmaPeerUnresolved"}, {"device", "rxe2"}, {"port", "1"}, {"netdev", "eth2"}, {"neighbour", address}};
  return alert;
}

std::vector<wire::HandRequest::Kind> kinds_of(const Story& story) {
  std::vector<wire::HandRequest::Kind> out;
  for (const auto& request : story.host.requests) out.push_back(request.kind);
  return out;
}

}  // namespace

TEST_CASE("a peer's entry that failed is resolved again, and verified after its settle time") {
  Story story;
  story.neighbours.all = {peer("10.0.0.1", NeighbourState::failed), peer("10.0.0.3", NeighbourState::failed)};
  const auto alert = of_neighbour(story, "10.0.0.1");
  story.fire(alert);
  story.pass(seconds{5});
  CHECK(kinds_of(story) == std::vector{wire::HandRequest::Kind::query_neighbours, wire::HandRequest::Kind::refresh_neighbours});
  REQUIRE(story.host.requests.at(1).neighbours.size() == 1);
  CHECK(story.host.requests.at(1).neighbours.at(0) == wire::HandNeighbour{7, false, {10, 0, 0, 1}});
  CHECK(story.lines() == Lines{"started 10.0.0.1 on eth2: was failed: the kernel resolves it again"});
  SECTION("it answers") {
    story.neighbours.all[0] = peer("10.0.0.1", NeighbourState::reachable);
    story.pass(seconds{30});
    CHECK(story.lines().at(1) == "succeeded 10.0.0.1 on eth2: 10.0.0.1 on eth2 is reachable at 02:00:00:00:00:02");
  }
  SECTION("nobody answers") {
    story.pass(seconds{30});
    CHECK(story.lines().at(1) == "ineffective 10.0.0.1 on eth2: 10.0.0.1 on eth2 is failed");
    CHECK(story.lines().size() == 3);  // the next step of the ladder ran
  }
  SECTION("the kernel has dropped it") {
    story.neighbours.all.clear();
    story.pass(seconds{30});
    CHECK(story.lines().at(1) == "ineffective 10.0.0.1 on eth2: 10.0.0.1 on eth2 has no entry any more");
  }
  story.pass(std::chrono::hours{1});
  CHECK(story.host.requests.size() == 2);  // not again while it fires
}

TEST_CASE("an alert of a port alone means all of its peers that nobody answers for") {
  Story story;
  story.neighbours.all = {peer("10.0.0.1", NeighbourState::failed, 0), peer("10.0.0.2", NeighbourState::stale), peer("10.0.0.3", NeighbourState::failed),
                          peer("fd00::4", NeighbourState::incomplete)};
  story.fire(story.alert({Story::step(kRefresh)}));
  story.pass(seconds{5});
  REQUIRE(story.host.requests.size() == 2);
  const auto& asked = story.host.requests.at(1).neighbours;
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].address == std::array<std::uint8_t, 16>{10, 0, 0, 3});
  CHECK(asked[1] == wire::HandNeighbour{7, true, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}});
}

TEST_CASE("what forbids it to resolve a neighbour again is told once") {
  Story story;
  story.neighbours.all = {peer("10.0.0.1", NeighbourState::failed)};
  auto alert = of_neighbour(story, "10.0.0.1");
  std::string why;
  SECTION("it was set by hand") {
    story.neighbours.all = {peer("10.0.0.1", NeighbourState::permanent)};
    why = "10.0.0.1 on eth2 was set by hand (permanent) and is not resolved";
  }
  SECTION("there is no entry") {
    story.neighbours.all.clear();
    why = "rxe2/1 has no entry of 10.0.0.1";
  }
  SECTION("no hand") { why = story.host.why_unavailable = "acting is not granted"; }
  SECTION("no right") { why = story.host.probe_error = "rdmend-hand lacks CAP_NET_ADMIN"; }
  SECTION("gone meanwhile") {
    story.host.neighbour_error = "there is no such entry any more";
    why = "10.0.0.1 on eth2: there is no such entry any more";
  }
  SECTION("no port") {
    alert.labels.erase("port");
    why = "the alert has no label 'port', so there is no port whose neighbours are meant";
  }
  SECTION("nothing is wrong") {
    story.neighbours.all = {peer("10.0.0.1", NeighbourState::reachable)};
    alert.labels.erase("neighbour");
    why = "no neighbour of rxe2/1 that queue pairs lead to is unresolved";
  }
  story.fire(alert);
  story.pass(seconds{100});
  REQUIRE_FALSE(story.lines().empty());
  CHECK(story.lines().at(0).ends_with(": " + why));
  CHECK(story.lines().at(0).starts_with("refused "));
  for (const auto kind : kinds_of(story)) CHECK(kind != wire::HandRequest::Kind::refresh_neighbours);
}

TEST_CASE("mode observe tells which neighbour it would have resolved again, and needs no hand for that") {
  Story story;
  story.config.mode = config::Mode::observe;
  story.open();
  story.host.why_unavailable = "acting is not granted";
  story.neighbours.all = {peer("10.0.0.1", NeighbourState::failed)};
  story.fire(of_neighbour(story, "10.0.0.1"));
  story.pass(seconds{100});
  CHECK(story.lines().at(0) == "dry_run 10.0.0.1 on eth2: mode observe: would be done: have it resolved again, which is failed now");
  CHECK(story.host.requests.empty());
}

TEST_CASE("a hand that dies over a neighbour is a failure") {
  Story story;
  story.neighbours.all = {peer("10.0.0.1", NeighbourState::failed)};
  story.host.dies_over_neighbours = true;
  story.fire(of_neighbour(story, "10.0.0.1"));
  story.pass(seconds{10});
  CHECK(story.lines().at(0) == "failed 10.0.0.1 on eth2: the hand does not answer: the hand ended");
}
