// SPDX-License-Identifier: Apache-2.0
#include "sources/uevents.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

using namespace rdmend::sources;

namespace {

std::optional<Uevent> parse(std::string_view text) { return parse_uevent(std::as_bytes(std::span(text))); }

constexpr char kAdd[] =
    "add@/devices/virtual/infiniband_verbs/uverbs0\0ACTION=add\0DEVPATH=/devices/virtual/infiniband_verbs/uverbs0\0SUBSYSTEM=infiniband_verbs\0MAJOR=231\0"
    "DEVNAME=infiniband/uverbs0\0SEQNUM=1234";
constexpr char kMove[] =
    "move@/devices/virtual/infiniband/foo\0ACTION=move\0DEVPATH=/devices/virtual/infiniband/foo\0SUBSYSTEM=infiniband\0"
    "DEVPATH_OLD=/devices/virtual/infiniband/rxe1\0NAME=foo\0SEQNUM=9";

}  // namespace

TEST_CASE("uevents are told by action, subsystem and name") {
  const auto added = parse({kAdd, sizeof kAdd});
  REQUIRE(added);
  CHECK(added->action == "add");
  CHECK(added->subsystem == "infiniband_verbs");
  CHECK(added->name == "uverbs0");
  const auto moved = parse({kMove, sizeof kMove});
  REQUIRE(moved);
  CHECK(moved->action == "move");
  CHECK(moved->name == "foo");
  CHECK(moved->old_name == "rxe1");
}

TEST_CASE("what is no kernel uevent is none") {
  using namespace std::string_view_literals;
  for (const auto text : {""sv, "@"sv, "add@/x"sv, "libudev\0\0\0\0\0"sv, "add@/x\0"sv, "add@/x\0ACTION=add\0SUBSYSTEM=infiniband\0"sv, "add@/x\0=\0==\0ACTION\0"sv}) CHECK_FALSE(parse(text));
}

TEST_CASE("a uevent cut short anywhere does no harm") {
  for (std::size_t length = 0; length < sizeof kMove; ++length)
    if (const auto event = parse({kMove, length})) CHECK(event->action == "move");
}
