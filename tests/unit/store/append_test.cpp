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

TEST_CASE("points go back with a clock that is set back, and no series misses one") {
  Store store({.retention = 60s});
  for (int t = 100; t <= 102; ++t) store.append(kUp, at(t), t);
  store.set_back(40s);
  store.append(kUp, at(63), 103);
  CHECK(dump(store, {named("up")}) == "up{device=\"rxe0\"}: 60=100 61=101 62=102 63=103\n");
  CHECK(store.stats().rejected_points == 0);
  store.set_back(3600s);
  store.append(kUp, at(-3536), 104);
  CHECK(dump(store, {named("up")}, at(-4000), at(0)) == "up{device=\"rxe0\"}: -3540=100 -3539=101 -3538=102 -3537=103 -3536=104\n");
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
