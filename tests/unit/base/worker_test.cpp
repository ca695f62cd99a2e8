// SPDX-License-Identifier: Apache-2.0
#include "base/worker.hpp"

#include <catch2/catch.hpp>
#include <algorithm>
#include <future>

#include "support/virtual_reactor.hpp"

using namespace rdmend;

TEST_CASE("a worker's results come back on the loop, in order") {
  test::VirtualReactor loop;
  Worker worker(loop, "test");
  std::vector<int> got;
  for (int i = 0; i < 10; ++i) REQUIRE(worker.submit([&got, i] { return [&got, i] { got.push_back(i); }; }));
  REQUIRE(loop.run_until([&] { return got.size() == 10; }));
  CHECK(std::is_sorted(got.begin(), got.end()));
  CHECK(worker.pending() == 0);
}

TEST_CASE("a worker that hangs is seen, costs nobody else, and is left behind") {
  test::VirtualReactor loop;
  std::promise<void> release;
  auto gate = release.get_future().share();
  bool delivered = false;
  {
    Worker stuck(loop, "stuck");
    stuck.submit([gate, &delivered] {
      gate.wait();
      return [&delivered] { delivered = true; };
    });
    Worker other(loop, "other");
    bool served = false;
    other.submit([&served] { return [&served] { served = true; }; });
    REQUIRE(loop.run_until([&] { return served; }));
    REQUIRE(loop.run_until([&] { return stuck.busy_since() != Instant::max(); }));
    CHECK_FALSE(stuck.drain(milliseconds{1}));
  }  // does not wait
  release.set_value();
  loop.run_posted();
  CHECK_FALSE(delivered);
}

TEST_CASE("a worker's queue is bounded") {
  test::VirtualReactor loop;
  std::promise<void> release;
  auto gate = release.get_future().share();
  Worker worker(loop, "full");
  worker.submit([gate] {
    gate.wait();
    return [] {};
  });
  std::size_t taken = 0;
  while (worker.submit([] { return [] {}; })) ++taken;
  CHECK(taken <= Worker::limit);
  release.set_value();
}
