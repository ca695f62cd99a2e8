// SPDX-License-Identifier: Apache-2.0
#include "rdmend/clients.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <deque>

#include "base/unique_fd.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;

namespace {

// Connections whose source is what the test says.
struct Crowd {
  Client* add(const std::string& source, milliseconds since) {
    int pair[2]{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    ours.emplace_back(pair[0]);
    theirs.emplace_back(pair[1]);
    auto* client = clients.add(pair[0], Instant{} + since);
    clients.count_for(*client, source);
    return client;
  }
  static bool open(const Client* client) { return !client->dropped; }

  std::deque<UniqueFd> ours, theirs;
  Clients clients;
};

}  // namespace

TEST_CASE("whoever has the most loses the oldest") {
  Crowd c;
  auto* scrape = c.add("10.0.0.1", 0ms);
  auto* first = c.add("10.0.0.2", 1ms);
  auto* second = c.add("10.0.0.2", 2ms);
  CHECK(c.clients.drop_one());
  CHECK(c.open(scrape));
  CHECK_FALSE(c.open(first));
  char byte = 0;
  CHECK(read(c.theirs[1].get(), &byte, 1) == 0);
  c.clients.remove(first);
  CHECK(c.clients.size() == 2);
  CHECK(c.open(second));
}

TEST_CASE("who is being answered goes after those who are not, who waits for us never") {
  Crowd c;
  auto* waits = c.add("a", 0ms);
  waits->waits_for_us = true;
  auto* reads = c.add("a", 1ms);
  c.clients.set_unsent(*reads, 100);
  auto* idle = c.add("a", 2ms);
  CHECK(c.clients.drop_one());
  CHECK_FALSE(c.open(idle));
  CHECK(c.clients.drop_one());
  CHECK_FALSE(c.open(reads));
  CHECK(c.clients.unsent() == 0);
  CHECK_FALSE(c.clients.drop_one());
  CHECK(c.open(waits));
}

TEST_CASE("memory is got back from the oldest reader") {
  Crowd c;
  auto* first = c.add("a", 0ms);
  auto* second = c.add("b", 1ms);
  auto* third = c.add("c", 2ms);
  c.clients.set_unsent(*first, 10);
  c.clients.set_unsent(*third, 30);
  CHECK(c.clients.unsent() == 40);
  CHECK(c.clients.drop_a_reader(first));
  CHECK(c.open(first));
  CHECK(c.open(second));
  CHECK_FALSE(c.open(third));
  CHECK_FALSE(c.clients.drop_a_reader(first));
}

TEST_CASE("only those that are slow are dropped for it") {
  Crowd c;
  auto* slow = c.add("a", 0ms);
  auto* waits = c.add("a", 0ms);
  waits->waits_for_us = true;
  auto* fresh = c.add("a", 500ms);
  c.clients.drop_slow(Instant{} + 1001ms, 1000ms, 1000ms);
  CHECK_FALSE(c.open(slow));
  CHECK(c.open(waits));
  CHECK(c.open(fresh));
}

TEST_CASE("of those that have asked for nothing yet, the oldest of whoever has the most goes, and none for long") {
  Crowd c;
  auto* asks = c.add("a", 0ms);
  c.clients.settle(*asks);
  c.clients.settle(*asks);
  auto* honest = c.add("b", 1ms);
  auto* first = c.add("a", 2ms);
  auto* second = c.add("a", 3ms);
  CHECK(c.clients.newcomers() == 3);
  CHECK(c.clients.drop_a_newcomer());
  CHECK_FALSE(c.open(first));
  c.clients.remove(first);
  CHECK(c.clients.newcomers() == 2);
  c.clients.drop_slow(Instant{} + 1002ms, 1h, 1000ms);
  CHECK(c.open(asks));
  CHECK_FALSE(c.open(honest));
  CHECK(c.open(second));
  // Whoever has the most has none of them left: anybody's.
  c.add("a", 4ms)->new_here = false;
  CHECK(c.clients.drop_a_newcomer());
  CHECK_FALSE(c.open(second));
  CHECK_FALSE(c.clients.drop_a_newcomer());
}

TEST_CASE("a connection counts for the user of a unix socket") {
  int pair[2]{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const UniqueFd a(pair[0]), b(pair[1]);
  CHECK(source_of(a.get()) == "user " + std::to_string(getuid()));
}
