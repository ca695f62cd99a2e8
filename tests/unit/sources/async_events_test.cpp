// SPDX-License-Identifier: Apache-2.0
#include "sources/async_events.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace rdmend;
using namespace rdmend::sources;

namespace {

std::map<std::string, double> told(const EventCounts& counts) {
  std::map<std::string, double> all;
  for (const auto& sample : counts.samples()) all[sample.labels.text()] = sample.value;
  return all;
}

constexpr int kPortErr = 10, kDeviceFatal = 8;

}  // namespace

TEST_CASE("every event of every port stands at 0 from the start") {
  const EventCounts counts("mlx5_0", {"1", "2"});
  const auto all = told(counts);
  CHECK(all.size() == 2 + 2 * 7);
  CHECK(all.at(R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="2"})") == 0);
  CHECK(all.at(R"(rdma_async_events_total{device="mlx5_0",event="DEVICE_FATAL"})") == 0);
}

TEST_CASE("C10: events count for their own port") {
  EventCounts counts("mlx5_0", {"1", "2"});
  counts.count({.type = kPortErr, .port = 2});
  counts.count({.type = kPortErr, .port = 2});
  counts.count({.type = kDeviceFatal});
  const auto all = told(counts);
  CHECK(all.at(R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="1"})") == 0);
  CHECK(all.at(R"(rdma_async_events_total{device="mlx5_0",event="PORT_ERR",port="2"})") == 2);
  CHECK(all.at(R"(rdma_async_events_total{device="mlx5_0",event="DEVICE_FATAL"})") == 1);
}

TEST_CASE("an event that has no name here is told by its number, so many of them and no more") {
  EventCounts counts("mlx5_0", {"1"});
  counts.count({.type = 99});
  CHECK(told(counts).at(R"(rdma_async_events_total{code="99",device="mlx5_0",event="unknown"})") == 1);
  for (int type = 100; type < 10'000; ++type) counts.count({.type = type});
  CHECK(counts.samples().size() == 9 + EventCounts::kMostUnknown);
}
