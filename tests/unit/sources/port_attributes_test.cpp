// SPDX-License-Identifier: Apache-2.0
#include "sources/port_attributes.hpp"

#include <catch2/catch.hpp>
#include <cerrno>

#include "support/tree.hpp"

using namespace rdmend;
using namespace rdmend::sources;

TEST_CASE("rates are bytes per second") {
  CHECK(parse_rate("400 Gb/sec (4X NDR)") == 50e9);
  CHECK(parse_rate("2.5 Gb/sec (1X SDR)") == 312.5e6);
  CHECK(parse_rate("100 Gb/sec") == 12.5e9);
  for (const char* text : {"", "fast", "-1 Gb/sec", "400", "400 Mb/sec", "nan Gb/sec", "inf Gb/sec", "1e300 Gb/sec", "400 Gb/second"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_rate(text));
  }
}

TEST_CASE("states are the number before the colon") {
  CHECK(parse_state("4: ACTIVE") == 4);
  CHECK(parse_state("<unknown>") == std::nullopt);
  CHECK(parse_state("ACTIVE") == std::nullopt);
  CHECK(parse_state(": ") == std::nullopt);
}

TEST_CASE("an InfiniBand port has LIDs, an Ethernet port has none") {
  const test::Tree tree;
  tree.files("ports/1", {{"state", "4: ACTIVE"}, {"phys_state", "5: LinkUp"}, {"rate", "400 Gb/sec (4X NDR)"}, {"link_layer", "InfiniBand"}, {"lid", "0x1a"}, {"sm_lid", "0x1"}});
  tree.files("ports/2", {{"state", "1: DOWN"}, {"phys_state", "3: Disabled"}, {"rate", "2.5 Gb/sec (1X SDR)"}, {"link_layer", "Ethernet"}, {"lid", "0x0"}, {"sm_lid", "0x0"}});
  const auto dir = open_dir(AT_FDCWD, tree.path());
  const auto first = PortAttributeReader("1").read(dir->get(), Instant{});
  CHECK(first.state == 4);
  CHECK(first.physical_state == 5);
  CHECK(first.rate == 50e9);
  CHECK(first.lid == 26);
  CHECK(first.sm_lid == 1);
  const auto second = PortAttributeReader("2").read(dir->get(), Instant{});
  CHECK(second.state == 1);
  CHECK(second.link_layer == "Ethernet");
  CHECK_FALSE(second.lid);
  CHECK(second.faults.empty());
}

TEST_CASE("a port without phys_state is still a port; one that cannot be read says so") {
  const test::Tree tree;
  tree.files("ports/1", {{"state", "4: ACTIVE"}, {"link_layer", "Ethernet"}});
  tree.link("ports/1/rate", "/proc/self/mem");
  const auto dir = open_dir(AT_FDCWD, tree.path());
  const auto port = PortAttributeReader("1").read(dir->get(), Instant{});
  CHECK(port.state == 4);
  CHECK_FALSE(port.physical_state);
  REQUIRE(port.faults.size() == 1);
  CHECK(port.faults[0].name == "rate");
  CHECK(port.faults[0].error == EIO);
}
