// SPDX-License-Identifier: Apache-2.0
#include "rdmend/loop.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "base/unique_fd.hpp"
#include "base/worker.hpp"

using namespace rdmend;
using namespace std::chrono_literals;
using daemon::Loop;

namespace {

struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    ours.reset(fds[0]);
    theirs.reset(fds[1]);
  }
  void send() const { REQUIRE(write(theirs.get(), "x", 1) == 1); }
  UniqueFd ours, theirs;
};

}  // namespace

TEST_CASE("a descriptor calls back while it is ready, and a watch may end itself in its own callback") {
  Loop loop;
  const Pair pair;
  int calls = 0;
  Reactor::Handle watch;
  // What the callback holds must live until it returns, though the watch is gone by then.
  auto witness = std::make_shared<int>(7);
  watch = loop.watch(pair.ours.get(), {true, false}, [&, witness](Reactor::Ready ready) {
    CHECK(ready.readable);
    if (++calls < 3) return;
    watch.reset();
    CHECK(*witness == 7);
  });
  witness.reset();
  pair.send();  // never read: level-triggered, so it comes again
  REQUIRE(loop.run_until([&] { return calls == 3; }, 5s));
  CHECK_FALSE(loop.run_until([&] { return calls > 3; }, 20ms));
}

TEST_CASE("a callback may end another watch that is ready in the same turn") {
  Loop loop;
  const Pair a;
  const Pair b;
  int calls = 0;
  Reactor::Handle first;
  Reactor::Handle second;
  first = loop.watch(a.ours.get(), {true, false}, [&](Reactor::Ready) {
    ++calls;
    first.reset();
    second.reset();
  });
  second = loop.watch(b.ours.get(), {true, false}, [&](Reactor::Ready) {
    ++calls;
    first.reset();
    second.reset();
  });
  a.send();
  b.send();
  REQUIRE(loop.run_until([&] { return calls > 0; }, 5s));
  CHECK_FALSE(loop.run_until([&] { return calls > 1; }, 20ms));
}

TEST_CASE("timers: once, repeated, ended, and re-armed from their own callback") {
  Loop loop;
  int once = 0;
  int often = 0;
  int never = 0;
  int chain = 0;
  const auto a = loop.after(1ms, [&] { ++once; });
  const auto b = loop.every(1ms, [&] { ++often; });
  loop.after(1ms, [&] { ++never; });  // the handle is dropped at once
  Reactor::Handle c;
  std::function<void()> again = [&] {
    if (++chain < 5) c = loop.after(1ms, again);
  };
  again();
  REQUIRE(loop.run_until([&] { return often >= 5 && chain == 5; }, 5s));
  CHECK(once == 1);
  CHECK(never == 0);
}

TEST_CASE("late ticks are merged") {
  Loop loop;
  int ticks = 0;
  const auto tick = loop.every(2ms, [&] { ++ticks; });
  const auto hog = loop.after(1ms, [] {
    const auto end = std::chrono::steady_clock::now() + 60ms;
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  const auto end = loop.after(70ms, [&] { loop.stop(); });
  loop.run();
  CHECK(ticks >= 1);
  CHECK(ticks < 15);  // 35 had they been made up for
}

TEST_CASE("now() is read once a wake-up and rises with it") {
  Loop loop;
  Now first;
  Now within;
  Now later;
  const auto a = loop.after(1ms, [&] {
    first = loop.now();
    const auto end = std::chrono::steady_clock::now() + 5ms;
    while (std::chrono::steady_clock::now() < end) {
    }
    within = loop.now();
  });
  const auto b = loop.after(20ms, [&] { later = loop.now(); });
  REQUIRE(loop.run_until([&] { return later.mono != Instant{}; }, 5s));
  CHECK(first.mono == within.mono);
  CHECK(first.wall == within.wall);
  CHECK(later.mono >= first.mono + 5ms);
  CHECK(loop.stats().wakeups >= 2);
  CHECK(loop.stats().longest >= 5ms);
  CHECK(loop.stats().busy >= loop.stats().longest);
}

TEST_CASE("ten thousand tasks posted by four threads all run, on the loop's thread") {
  Loop loop;
  std::size_t ran = 0;
  bool elsewhere = false;
  const auto home = std::this_thread::get_id();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2500; ++i)
        loop.post([&] {
          ++ran;
          elsewhere = elsewhere || std::this_thread::get_id() != home;
        });
    });
  CHECK(loop.run_until([&] { return ran == 10'000; }, 20s));
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a task that posts itself for ever does not starve the rest") {
  Loop loop;
  bool other = false;
  std::function<void()> forever = [&] { loop.post(forever); };
  forever();
  const auto timer = loop.after(2ms, [&] { other = true; });
  CHECK(loop.run_until([&] { return other; }, 5s));
}

TEST_CASE("a worker delivers to the real loop") {
  Loop loop;
  Worker worker(loop, "test");
  int got = 0;
  worker.submit([&] { return [&] { got = 42; }; });
  CHECK(loop.run_until([&] { return got == 42; }, 5s));
}

TEST_CASE("a signal arrives as a callback") {
  Loop loop;
  int arrived = 0;
  const auto watch = loop.on_signal(SIGUSR1, [&] { ++arrived; });
  raise(SIGUSR1);
  CHECK(loop.run_until([&] { return arrived == 1; }, 5s));
}

TEST_CASE("a callback that throws is logged, and the loop goes on") {
  Loop loop;
  bool after = false;
  loop.post([] { throw std::runtime_error("of this test: expected in the log"); });
  loop.post([&] { after = true; });
  CHECK(loop.run_until([&] { return after; }, 5s));
}

TEST_CASE("a wall clock that is set back is seen, one that is slowed or set forward is not") {
  const Now before{Instant{100s}, Timestamp{5000s}};
  CHECK(daemon::set_back(before, {Instant{101s}, Timestamp{5001s}}) == 0s);
  CHECK(daemon::set_back(before, {Instant{101s}, Timestamp{4701s}}) == 300s);
  CHECK(daemon::set_back(before, {Instant{400s}, Timestamp{5000s}}) == 300s);  // stopped for five minutes meanwhile
  CHECK(daemon::set_back(before, {Instant{101s}, Timestamp{5000500ms}}) == 0s);
  CHECK(daemon::set_back(before, {Instant{101s}, Timestamp{9000s}}) == 0s);
}
