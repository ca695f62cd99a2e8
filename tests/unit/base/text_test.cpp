// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "base/diagnostic.hpp"

using namespace rdmend;
using namespace std::chrono_literals;

TEST_CASE("durations are read as Prometheus reads them") {
  CHECK(parse_duration("5s") == 5000ms);
  CHECK(parse_duration("1h30m") == 90min);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("0") == 0ms);
  CHECK(parse_duration("1y2w3d4h5m6s7ms").has_value());
  for (const auto* bad : {"", "5", "s", "5S", "1m1h", "1s1s", "-5s", "1.5s", "5 s", "99999999999999999999s", "999999999999y"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration(bad).has_value());
  }
}

TEST_CASE("durations print in their shortest form and read back") {
  CHECK(format_duration(0ms) == "0s");
  CHECK(format_duration(90s) == "1m30s");
  CHECK(format_duration(1500ms) == "1s500ms");
  CHECK(format_duration(24h) == "1d");
  for (const std::int64_t ms : {1, 999, 60'000, 86'400'001}) CHECK(parse_duration(format_duration(milliseconds{ms})) == milliseconds{ms});
}

TEST_CASE("a slip of the finger is recognised, a strange word is not") {
  constexpr std::array<std::string_view, 3> kKeys{"expr", "labels", "annotations"};
  CHECK(did_you_mean("exprr", kKeys) == "did you mean 'expr'?");
  CHECK(did_you_mean("anotations", kKeys) == "did you mean 'annotations'?");
  CHECK(did_you_mean("zzzzzzzz", kKeys) == "legal are: expr, labels, annotations");
}

TEST_CASE("what a terminal could stumble over is shown as bytes") {
  CHECK(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(printable("abcdef", 3) == "abc...");
}

TEST_CASE("a timestamp is RFC 3339 in UTC") { CHECK(format_timestamp(Timestamp{1'700'000'000'123ms}) == "2023-11-14T22:13:20.123Z"); }

TEST_CASE("a diagnostic says where, what and what would be right") {
  Diagnostics faults;
  faults.error("rdmend.yaml", {3, 7}, "unknown key 'mod'", "did you mean 'mode'?");
  faults.warning("rdmend.yaml", {}, "no rule files match '/x/*.yaml'");
  CHECK(faults.failed());
  CHECK(faults.text() ==
        "rdmend.yaml:3:7: error: unknown key 'mod'; did you mean 'mode'?\n"
        "rdmend.yaml: warning: no rule files match '/x/*.yaml'\n");
}

TEST_CASE("the name of a unit has a suffix after its last dot") {
  CHECK(unit_suffix("opensm.service") == "service");
  CHECK(unit_suffix("a@b\\x2d.1.socket") == "socket");
  CHECK(unit_suffix("opensm.") == "");
  for (const auto& none : {std::string("opensm"), std::string(".service"), std::string("a b.service"), std::string("a/b.service"), std::string(248, 'a') + ".service"})
    CHECK_FALSE(unit_suffix(none));
  CHECK(unit_suffix(std::string(247, 'a') + ".service") == "service");
}
