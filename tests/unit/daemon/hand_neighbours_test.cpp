// SPDX-License-Identifier: Apache-2.0
// What the hand does to neighbours, on the kernel's own tables, in a network namespace of its own.
#include "route_netlink.hpp"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <net/if.h>

#include <catch2/catch.hpp>

#include "support/own_network.hpp"

using namespace rdmend;
using Kind = wire::HandRequest::Kind;

namespace {

wire::HandNeighbour on_va(const char* address) {
  wire::HandNeighbour out;
  out.interface_index = if_nametoindex("va");
  out.v6 = std::string_view(address).find(':') != std::string_view::npos;
  inet_pton(out.v6 ? AF_INET6 : AF_INET, address, out.address.data());
  return out;
}

wire::HandReply ask(Kind kind, std::vector<wire::HandNeighbour> about, bool may_change = true) {
  auto netlink = hand::RouteNetlink::open(may_change);
  REQUIRE(netlink);
  wire::HandRequest request;
  request.kind = kind;
  request.id = 9;
  request.neighbours = std::move(about);
  auto reply = netlink->answer(request);
  CHECK(reply.id == 9);
  return reply;
}

std::string shown(const std::string& address) { return test::run_command("ip neigh show " + address + " dev va").output; }

}  // namespace

TEST_CASE("an entry that failed is asked for again, one that is resolved is probed, IPv4 and IPv6") {
  if (!test::own_network()) {
    WARN("no network namespace of its own can be made: needs root");
    return;
  }
  for (const std::string address : {"10.9.0.2", "fd09::2"}) {
    INFO(address);
    const auto entry = on_va(address.c_str());
    REQUIRE(test::neighbour("replace " + address + " lladdr 02:00:00:00:09:02 dev va nud reachable"));
    CHECK(ask(Kind::query_neighbours, {entry}).neighbours == std::vector{wire::HandNeighbourReply{NUD_REACHABLE, ""}});
    CHECK(ask(Kind::refresh_neighbours, {entry}).neighbours == std::vector{wire::HandNeighbourReply{NUD_REACHABLE, ""}});
    CHECK(shown(address).find("PROBE") != std::string::npos);
    REQUIRE(test::neighbour("change " + address + " dev va nud failed"));
    CHECK(ask(Kind::refresh_neighbours, {entry}).neighbours == std::vector{wire::HandNeighbourReply{NUD_FAILED, ""}});
    CHECK(shown(address).find("INCOMPLETE") != std::string::npos);  // nobody is there to answer
  }
}

TEST_CASE("a refresh takes an entry from nobody whose it is") {
  if (!test::own_network()) return;
  // As a routing daemon (EVPN) and an administrator make them.
  for (const std::string owner : {"extern_learn", "managed"}) {
    INFO(owner);
    if (!test::neighbour("replace 10.9.0.6 lladdr 02:00:00:00:09:06 dev va nud reachable " + owner)) continue;  // an iproute2 or kernel before 5.16
    const auto made = shown("10.9.0.6");
    CHECK(made.find(owner) != std::string::npos);
    CHECK(ask(Kind::refresh_neighbours, {on_va("10.9.0.6")}).neighbours.at(0).error.empty());
    CHECK(shown("10.9.0.6").find(owner) != std::string::npos);
    REQUIRE(test::neighbour("change 10.9.0.6 dev va nud failed " + owner));
    CHECK(ask(Kind::refresh_neighbours, {on_va("10.9.0.6")}).neighbours.at(0).error.empty());  // failed, or asked for already where it is managed
    CHECK(shown("10.9.0.6").find(owner) != std::string::npos);
    test::neighbour("del 10.9.0.6 dev va");
  }
}

TEST_CASE("an entry that was set by hand is left as it is, one that is not there is not made") {
  if (!test::own_network()) return;
  REQUIRE(test::neighbour("replace 10.9.0.4 lladdr 02:00:00:00:09:04 dev va nud permanent"));
  const auto reply = ask(Kind::refresh_neighbours, {on_va("10.9.0.4"), on_va("10.9.0.5"), on_va("fd09::5")});
  REQUIRE(reply.error.empty());
  REQUIRE(reply.neighbours.size() == 3);
  CHECK(reply.neighbours[0] == wire::HandNeighbourReply{NUD_PERMANENT, "the entry was set by hand and is not resolved"});
  CHECK(reply.neighbours[1] == wire::HandNeighbourReply{0, "there is no such entry any more"});
  CHECK(reply.neighbours[2].error == "there is no such entry any more");
  CHECK(shown("10.9.0.4").find("PERMANENT") != std::string::npos);
  CHECK(shown("10.9.0.5").empty());
  auto nowhere = on_va("10.9.0.4");
  nowhere.interface_index = 0x7fffffff;
  CHECK_FALSE(ask(Kind::refresh_neighbours, {nowhere}).neighbours.at(0).error.empty());
}

TEST_CASE("without CAP_NET_ADMIN it says so, and looks at nothing") {
  const auto reply = ask(Kind::query_neighbours, {on_va("10.9.0.4")}, false);
  CHECK(reply.error == "rdmend-hand lacks CAP_NET_ADMIN, without which it changes no neighbour entry (rdmend-hand-refresh_neighbour.conf grants it)");
  CHECK(reply.neighbours.empty());
}
