// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "store_fixture.hpp"

using namespace rdmend;
using namespace rdmend::store;
using namespace std::chrono_literals;

namespace {
const Labels kUp{{"__name__", "up"}, {"device", "rxe0"}};
}

TEST_CASE("points come back oldest first, the left edge left out") {
  Store store({});
  for (int t = 0; t <= 20; t += 5) store.append(kUp, at(t), t);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 0=0 5=5 10=10 15=15 20=20\n");
  CHECK(dump(store, {named("up")}, at(5), at(15)) == "up{device=\"rxe0\"}: 10=10 15=15\n");
  CHECK(dump(store, {named("up")}, at(20), at(30)).empty());
  CHECK(dump(store, {named("up")}, at(15), at(5)).empty());
}

TEST_CASE("a point of the same time replaces, an earlier one is rejected and counted") {
  Store store({});
  store.append(kUp, at(10), 1);
  store.append(kUp, at(10), 2);
  store.append(kUp, at(9), 3);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 10=2\n");
  CHECK(store.stats().rejected_points == 1);
  CHECK(store.stats().points == 1);
}

TEST_CASE("a clock that steps back within the retention costs points until it has caught up") {
  Store store({.retention = 60s});
  store.append(kUp, at(100), 1);
  for (int t = 50; t <= 102; ++t) store.append(kUp, at(t), t);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 100=100 101=101 102=102\n");
  CHECK(store.stats().rejected_points == 50);
}

TEST_CASE("a clock that steps back further than the retention starts the series anew") {
  Store store({.retention = 60s});
  store.append(kUp, at(1000), 1);
  store.append(kUp, at(1001), 2);
  store.append(kUp, at(100), 3);
  store.append(kUp, at(101), 4);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 100=3 101=4\n");
  CHECK(store.stats().rejected_points == 2);
  CHECK(store.stats().points == 2);
}

TEST_CASE("what lies further in the future than the retention is forgotten too: its series would never end") {
  Store store({.retention = 60s});
  store.append(kUp, at(1000), 1);
  store.expire(at(945));
  CHECK(store.stats().series == 1);
  store.expire(at(900));
  CHECK(store.stats().series == 0);
}

TEST_CASE("points older than the retention go, and series that have none left") {
  Store store({.retention = 60s});
  for (int t = 0; t <= 100; t += 10) store.append(kUp, at(t), t);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 50=50 60=60 70=70 80=80 90=90 100=100\n");
  store.expire(at(130));
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 80=80 90=90 100=100\n");
  store.expire(at(160));
  CHECK(store.stats().series == 0);
  CHECK(store.stats().points == 0);
  CHECK(store.stats().bytes == 0);
  CHECK(dump(store, {named("up")}).empty());
  store.append(kUp, at(200), 1);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 200=1\n");
}

TEST_CASE("the latest values are those of living series, in label order") {
  Store store({});
  store.append({{"__name__", "b"}}, at(10), 1);
  store.append({{"__name__", "a"}, {"x", "2"}}, at(10), 2);
  store.append({{"__name__", "a"}, {"x", "1"}}, at(1), 3);
  store.append({{"__name__", "a"}, {"x", "3"}}, at(10), 4);
  store.append({{"__name__", "a"}, {"x", "3"}}, at(11), stale_marker());
  std::string got;
  store.latest(at(20), 15s, [&](const Labels& labels, const Point& last) {
    got += fmt::format("{}={} ", labels.text(), last.value);
  });
  CHECK(got == "a{x=\"2\"}=2 b=1 ");
}
