// SPDX-License-Identifier: Apache-2.0
#include "sources/counter_dir.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "support/tree.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  test::Tree tree;
  UniqueFd dir = std::move(open_dir(AT_FDCWD, tree.path())).value();
  CounterDir counters{"counters"};
  Instant now{1h};

  CounterReading read() { return counters.read(dir.get(), now); }
  CounterReading read_after(milliseconds wait) {
    now += wait;
    return read();
  }
};

std::optional<std::uint64_t> value(const CounterReading& reading, const std::string& name) {
  for (const auto& [known, number] : reading.values)
    if (known == name) return number;
  return std::nullopt;
}

int fault(const CounterReading& reading, const std::string& name) {
  for (const auto& known : reading.faults)
    if (known.name == name) return known.error;
  return 0;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "A10: every file of a directory is a counter, whatever its name") {
  tree.files("counters", {{"port_xmit_data", "7"}, {"Nak Sequence Error", "3"}, {"new_in_2030", "18446744073709551615"}});
  const auto reading = read();
  CHECK(reading.values.size() == 3);
  CHECK(value(reading, "Nak Sequence Error") == 3);
  CHECK(value(reading, "new_in_2030") == ~std::uint64_t{0});
  CHECK(reading.faults.empty());
}

TEST_CASE_METHOD(Fixture, "A8: a directory that is not there is an empty one, and is found when it comes") {
  auto reading = read();
  CHECK(reading.values.empty());
  CHECK(reading.faults.empty());
  tree.files("counters", {{"symbol_error", "1"}});
  reading = read_after(CounterDir::kRelist);
  CHECK(value(reading, "symbol_error") == 1);
}

TEST_CASE_METHOD(Fixture, "A1: N/A (no PMA) means not supported: no value, no error, nobody else hurt") {
  tree.files("counters", {{"symbol_error", "N/A (no PMA)"}, {"link_downed", "2"}});
  const auto reading = read();
  CHECK_FALSE(value(reading, "symbol_error"));
  CHECK(value(reading, "link_downed") == 2);
  CHECK(reading.faults.empty());
}

TEST_CASE_METHOD(Fixture, "A5, A6: one file that fails hides no other, and says why") {
  tree.files("counters", {{"link_downed", "2"}, {"garbage", "many"}});
  tree.link("counters/broken", "/proc/self/mem");  // EIO at address 0
  for (int i = 0; i < 2; ++i) {
    const auto reading = read_after(1s);
    CHECK(value(reading, "link_downed") == 2);
    CHECK(fault(reading, "garbage") == EBADMSG);
    CHECK(fault(reading, "broken") == EIO);
  }
}

TEST_CASE_METHOD(Fixture, "A9: what the device has not got (EINVAL) is asked again after an hour, not at every tick") {
  if (geteuid() != 0) {
    WARN("only root may open a file that answers EINVAL");
    return;
  }
  tree.files("counters", {{"link_downed", "2"}});
  tree.link("counters/VL15_dropped", "/proc/self/clear_refs");  // can be opened, not read
  CHECK(fault(read(), "VL15_dropped") == EINVAL);
  for (int i = 0; i < 100; ++i) CHECK(read_after(10s).faults.empty());
  CHECK(fault(read_after(Patience::kAbsent), "VL15_dropped") == EINVAL);
}

TEST_CASE_METHOD(Fixture, "A6: a fault that stays is asked for once a minute, and forgotten when the file answers") {
  tree.files("counters", {{"link_downed", "many"}});
  for (int i = 0; i < Patience::kTries; ++i) CHECK(fault(read_after(1s), "link_downed") == EBADMSG);
  for (int i = 0; i < 59; ++i) CHECK(read_after(1s).faults.empty());
  CHECK(fault(read_after(1s), "link_downed") == EBADMSG);
  tree.file("counters/link_downed", "7");
  CHECK(value(read_after(Patience::kUnwell), "link_downed") == 7);
  CHECK(value(read_after(1s), "link_downed") == 7);
}

TEST_CASE_METHOD(Fixture, "A14, A21: lifespan is a setting, no counter, and no reading is made of the kernel's cache") {
  tree.files("counters", {{"lifespan", "2000"}, {"duplicate_request", "1"}});
  auto reading = read();
  CHECK_FALSE(value(reading, "lifespan"));
  CHECK(value(reading, "duplicate_request") == 1);
  tree.file("counters/duplicate_request", "2");
  CHECK(read_after(1s).skipped);
  reading = read_after(1s);
  CHECK_FALSE(reading.skipped);
  CHECK(value(reading, "duplicate_request") == 2);
}

TEST_CASE_METHOD(Fixture, "a lifespan beyond the kernel's own limit does not silence a device") {
  tree.files("counters", {{"lifespan", "99999999999"}, {"duplicate_request", "1"}});
  read();
  CHECK_FALSE(read_after(10s).skipped);
}

TEST_CASE_METHOD(Fixture, "the counter that refreshes mlx5's cache is read first") {
  tree.files("counters", {{"duplicate_request", "1"}, {"rx_write_requests", "5"}, {"out_of_buffer", "2"}});
  CHECK(read().values.front().first == "rx_write_requests");
}

TEST_CASE_METHOD(Fixture, "files that come and go are followed") {
  tree.files("counters", {{"a", "1"}, {"b", "2"}});
  CHECK(read().values.size() == 2);
  tree.file("counters/c", "3");
  tree.remove("counters/a");
  const auto reading = read_after(CounterDir::kRelist);
  CHECK_FALSE(value(reading, "a"));
  CHECK(value(reading, "b") == 2);
  CHECK(value(reading, "c") == 3);
}

TEST_CASE_METHOD(Fixture, "a file of a copied tree that was replaced is opened anew") {
  tree.files("counters", {{"a", "1"}});
  CHECK(value(read(), "a") == 1);
  tree.remove("counters/a");
  tree.file("counters/a", "2");
  CHECK(value(read_after(CounterDir::kRelist), "a") == 2);
}

TEST_CASE("what was denied from the start is asked for once an hour; what once answered, sooner at first") {
  Instant now{1h};
  const auto wait = [&](Patience& patience) {
    const auto from = now;
    while (!patience.due(now)) now += 1s;
    return std::chrono::duration_cast<std::chrono::seconds>(now - from);
  };
  Patience absent, reset, gone;
  absent.failed(EOPNOTSUPP, now);
  CHECK(wait(absent) == 1h);
  reset.answered();
  for (const auto expected : {1min, 2min, 4min, 8min, 16min, 32min, 60min, 60min}) {
    reset.failed(EINVAL, now);
    CHECK(wait(reset) == expected);
  }
  reset.answered();
  CHECK(reset.due(now));
  for (int i = 0; i < 10; ++i) gone.failed(ENODEV, now);
  CHECK(gone.due(now));
}
