// SPDX-License-Identifier: Apache-2.0
// Contexts of our own and their async events, on a provider that the test plays.
#include "sources/verbs_events.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "support/virtual_reactor.hpp"
#include "unit/sources/mock_verbs.hpp"

using namespace rdmend;
using namespace rdmend::sources;
using namespace std::chrono_literals;

namespace {

constexpr int kDeviceFatal = 8, kPortActive = 9, kPortErr = 10, kGidChange = 18;

// Virtual time, and descriptors that are ready when the test says so.
class Loop : public test::VirtualReactor {
 public:
  Handle watch(int fd, Interest, std::function<void(Ready)> callback) override {
    auto made = std::make_unique<Entry>(*this, fd);
    watches_[fd] = std::move(callback);
    return made;
  }
  void ready() {
    const auto all = watches_;  // what a callback ends is not called
    for (const auto& [fd, call] : all)
      if (watches_.contains(fd)) call(Ready{.readable = true});
  }
  [[nodiscard]] std::size_t watched() const { return watches_.size(); }

 private:
  struct Entry : Watch {
    Entry(Loop& l, int f) : loop(l), fd(f) {}
    ~Entry() override { loop.watches_.erase(fd); }
    Loop& loop;
    int fd;
  };
  std::map<int, std::function<void(Ready)>> watches_;
};

struct Bench {
  test::MockVerbs verbs;
  Loop loop;
  std::vector<verbs::AsyncEvent> heard;

  std::unique_ptr<VerbsEvents> listen(const std::string& device, std::vector<std::string> ports) {
    verbs.add(device);
    auto made = std::make_unique<VerbsEvents>(loop, device, std::nullopt, std::move(ports), [this](const auto& events) { heard.insert(heard.end(), events.begin(), events.end()); });
    made->start();
    REQUIRE(loop.run_until([&] { return made->open(); }));
    return made;
  }
  static double count(const VerbsEvents& events, const std::string& series) {
    for (const auto& sample : events.counts()->samples())
      if (sample.labels.text() == series) return sample.value;
    return -1;
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "C10: an event of port 2 is port 2's, whatever port 1 does") {
  const auto events = listen("mlx5_0", {"1", "2"});
  verbs.raise("mlx5_0", kPortErr, 2);
  verbs.raise("mlx5_0", kPortActive, 1);
  loop.ready();
  CHECK(heard.size() == 2);
  CHECK(heard.front().port == 2);
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="1"})") == 0);
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="2"})") == 1);
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="PORT_ACTIVE",port="1"})") == 1);
  CHECK(verbs.unacknowledged() == 0);
}

TEST_CASE_METHOD(Bench, "C11: one reader of one context a device tells every port, and takes no other context's events") {
  const auto first = listen("mlx5_0", {"1", "2"});
  const auto second = listen("mlx5_1", {"1"});
  CHECK(verbs.open("mlx5_0") == 1);
  CHECK(loop.watched() == 2);
  verbs.raise("mlx5_0", kPortErr, 1);
  verbs.raise("mlx5_0", kPortErr, 2);
  loop.ready();
  for (const auto* port : {"1", "2"}) CHECK(count(*first, std::string(R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port=")") + port + "\"}") == 1);
  CHECK(count(*second, R"(rdma_async_events_total{device="mlx5_1",event="PORT_ERR",port="1"})") == 0);
}

TEST_CASE_METHOD(Bench, "C12: after DEVICE_FATAL nobody reads on; the context is closed, and opened again when the device is back") {
  const auto events = listen("mlx5_0", {"1"});
  verbs.raise("mlx5_0", kPortErr, 1);
  verbs.raise("mlx5_0", kDeviceFatal);
  verbs.raise("mlx5_0", kPortActive, 1);  // behind it: of no use
  loop.ready();
  CHECK(heard.size() == 2);
  CHECK(verbs.reads_after_fatal() == 0);
  CHECK(loop.watched() == 0);
  CHECK_FALSE(events->open());
  // It is closed before it is opened again: one worker does both.
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="DEVICE_FATAL"})") == 1);

  SECTION("a uevent says so") { events->uverbs_added(); }
  SECTION("or time has passed") { loop.advance(VerbsEvents::kAfterFatal); }
  REQUIRE(loop.run_until([&] { return events->open(); }));
  CHECK(verbs.opened("mlx5_0") == 2);
  CHECK(verbs.open("mlx5_0") == 1);
  verbs.raise("mlx5_0", kPortErr, 1);
  loop.ready();
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="1"})") == 2);  // it counts on
  CHECK(verbs.reads_after_fatal() == 0);
}

TEST_CASE_METHOD(Bench, "C13: down, up, address gone and back, and a fatal error in one breath are survived and told by name") {
  const auto events = listen("mlx5_0", {"1"});
  for (int i = 0; i < 100; ++i)
    for (const int type : {kPortErr, kGidChange, kPortActive}) verbs.raise("mlx5_0", type, 1);
  verbs.raise("mlx5_0", kDeviceFatal);
  for (int i = 0; i < 10; ++i) loop.ready();
  CHECK(heard.size() == 301);
  CHECK(count(*events, R"(rdma_async_events_total{device="mlx5_0",event="GID_CHANGE",port="1"})") == 100);
  CHECK(verbs.unacknowledged() == 0);
  CHECK(verbs.reads_after_fatal() == 0);
}
