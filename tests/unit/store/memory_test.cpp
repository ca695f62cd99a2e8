// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "store_fixture.hpp"

using namespace rdmend;
using namespace rdmend::store;
using namespace std::chrono_literals;

TEST_CASE("the store stays under its bytes by dropping the oldest points of the largest series") {
  Store store({.max_bytes = 256 * 1024, .retention = 24h});
  const Labels big{{"__name__", "big"}}, small{{"__name__", "small"}};
  for (int t = 0; t < 100'000; ++t) {
    store.append(big, at(t), t);
    if (t % 1000 == 0) store.append(small, at(t), t);
    REQUIRE(store.stats().bytes <= 256 * 1024);
  }
  std::size_t kept_big = 0, kept_small = 0;
  store.select(std::vector{named("big")}, at(-1), at(100'000),
               [&](const Labels&, std::span<const Point> points) {
                 kept_big = points.size();
                 CHECK(points.back().value == 99'999);
                 CHECK(points.front().value == 100'000 - static_cast<double>(points.size()));
               });
  store.select(std::vector{named("small")}, at(-1), at(100'000),
               [&](const Labels&, auto points) { kept_small = points.size(); });
  CHECK(kept_small == 87);  // a day of them: nothing was taken from the small one
  CHECK(kept_big > 4000);
  CHECK(store.stats().evicted_points > 50'000);
  CHECK(store.stats().points == kept_big + kept_small);
}

TEST_CASE("more series than fit: those not heard of for longest go") {
  Store store({.max_bytes = 256 * 1024, .retention = 24h});
  for (int i = 0; i < 20'000; ++i) {
    store.append({{"__name__", "m"}, {"i", fmt::format("{:05}", i)}}, at(i), i);
    REQUIRE(store.stats().bytes <= 256 * 1024);
  }
  CHECK(store.stats().series > 300);
  CHECK(store.stats().series < 2000);
  CHECK(dump(store, {match(Matcher::Op::equal, "i", "19999")}) == "m{i=\"19999\"}: 19999=19999\n");
  CHECK(dump(store, {match(Matcher::Op::equal, "i", "00000")}).empty());
  store.expire(at(1'000'000));
  CHECK(store.stats().bytes == 0);
}

TEST_CASE("a label set without measure is refused and counted") {
  Store store({});
  store.append({{"__name__", "m"}, {"x", std::string(1 << 20, 'x')}}, at(1), 1);
  store.ingest(
      {.scope = "s", .at = at(1), .samples = {{{{"__name__", "m"}, {"x", std::string(1 << 20, 'x')}}, 1}}});
  CHECK(store.stats().series == 0);
  CHECK(store.stats().rejected_points == 2);
}

TEST_CASE(
    "ten thousand series are found by any of their labels, and the count of bytes and points stays true") {
  Store store({.retention = 100s});
  for (int t = 0; t < 200; t += 10) {
    Batch batch{.scope = "all", .at = at(t), .samples = {}};
    for (int i = 0; i < 10'000; ++i)
      if (i % 7 != t / 10)  // some come and go
        batch.samples.push_back(
            {{{"__name__", fmt::format("m{}", i % 50)}, {"device", fmt::format("d{}", i / 50)}}, 1.0 * i});
    store.ingest(batch);
  }
  CHECK(store.stats().series == 10'000);
  std::size_t points = 0, found = 0;
  store.select(std::vector<Matcher>{}, at(-1), at(1000),
               [&](const Labels&, auto span) { points += span.size(); });
  CHECK(points == store.stats().points);
  store.select(std::vector{match(Matcher::Op::equal, "device", "d7")}, at(-1), at(1000),
               [&](const Labels&, auto) { ++found; });
  CHECK(found == 50);
  found = 0;
  store.select(std::vector{named("m3")}, at(-1), at(1000), [&](const Labels&, auto) { ++found; });
  CHECK(found == 200);
  store.expire(at(100'000));
  CHECK(store.stats().series == 0);
  CHECK(store.stats().points == 0);
  CHECK(store.stats().bytes <= 100'000);  // the scope, until its next batch or the next expire
}

TEST_CASE("random traffic agrees with a plain model") {
  std::mt19937 random(GENERATE(1U, 2U, 3U));
  Store store({.retention = 50s});
  std::map<std::string, std::map<std::int64_t, double>> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto name = "m" + std::to_string(random() % 10);
    const auto time = step / 50 + static_cast<std::int64_t>(random() % 8) - 4;
    store.append({{"__name__", name}}, at(time), step);
    auto& series = model[name];
    if (!series.empty() && time < series.rbegin()->first) continue;
    series[time] = step;
    series.erase(series.begin(), series.upper_bound(time - 50));
  }
  std::string expected;
  for (const auto& [name, series] : model) {
    expected += name + ":";
    for (const auto& [time, value] : series) expected += fmt::format(" {}={}", time, value);
    expected += "\n";
  }
  CHECK(dump(store, {}) == expected);
}
