// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "store_fixture.hpp"

using namespace rdmend;
using namespace rdmend::store;
using namespace std::chrono_literals;

namespace {

Batch batch(std::int64_t time, std::initializer_list<const char*> names, std::string scope = "s") {
  Batch made{.scope = std::move(scope), .at = at(time), .samples = {}};
  for (const auto* name : names)
    made.samples.push_back({Labels{{"__name__", "m"}, {"x", name}}, static_cast<double>(time)});
  return made;
}

}  // namespace

TEST_CASE("a series that its scope no longer has goes stale, once") {
  Store store({});
  store.ingest(batch(1, {"a", "b", "c"}));
  store.ingest(batch(2, {"c", "a"}));
  store.ingest(batch(3, {"a", "c"}));
  CHECK(dump(store, {named("m")}) ==
        "m{x=\"a\"}: 1=1 2=2 3=3\n"
        "m{x=\"b\"}: 1=1 2=stale\n"
        "m{x=\"c\"}: 1=1 2=2 3=3\n");
  store.ingest(batch(4, {"a", "b", "c"}));
  CHECK(dump(store, {named("m"), match(Matcher::Op::equal, "x", "b")}) == "m{x=\"b\"}: 1=1 2=stale 4=4\n");
}

TEST_CASE("scopes do not end each other's series") {
  Store store({});
  store.ingest(batch(1, {"a"}, "one"));
  store.ingest(batch(1, {"b"}, "two"));
  store.ingest(batch(2, {"a"}, "one"));
  CHECK(dump(store, {named("m")}) == "m{x=\"a\"}: 1=1 2=2\nm{x=\"b\"}: 1=1\n");
}

TEST_CASE("an empty batch ends what was there, the last batch ends all") {
  Store store({});
  store.ingest(batch(1, {"a", "b"}));
  store.ingest(batch(2, {}));
  CHECK(dump(store, {named("m")}) == "m{x=\"a\"}: 1=1 2=stale\nm{x=\"b\"}: 1=1 2=stale\n");
  store.ingest(batch(3, {"a", "b"}));
  auto last = batch(4, {"a"});
  last.last = true;
  store.ingest(last);
  CHECK(dump(store, {named("m")}, at(2), at(9)) == "m{x=\"a\"}: 3=3 4=stale\nm{x=\"b\"}: 3=3 4=stale\n");
}

TEST_CASE("a series that could not take its marker, its batch coming late, takes it with the next") {
  Store store({.retention = 60s});
  store.ingest(batch(100, {"a", "b"}));
  store.ingest(batch(90, {"a"}));
  CHECK(dump(store, {named("m")}) == "m{x=\"a\"}: 100=100\nm{x=\"b\"}: 100=100\n");
  store.ingest(batch(101, {"a"}));
  CHECK(dump(store, {named("m")}) == "m{x=\"a\"}: 100=100 101=101\nm{x=\"b\"}: 100=100 101=stale\n");
}

TEST_CASE("a sample that comes twice in a batch counts once") {
  Store store({});
  store.ingest(batch(1, {"a", "a"}));
  store.ingest(batch(2, {"a", "a"}));
  store.ingest(batch(3, {}));
  CHECK(dump(store, {named("m")}) == "m{x=\"a\"}: 1=1 2=2 3=stale\n");
}

TEST_CASE("a vanished source's scope is forgotten with its series") {
  Store store({.retention = 60s});
  for (int i = 0; i < 1000; ++i) store.ingest(batch(1, {"a"}, "scope " + std::to_string(i)));
  CHECK(store.stats().bytes > 0);
  store.expire(at(1000));
  CHECK(store.stats().bytes == 0);
}
