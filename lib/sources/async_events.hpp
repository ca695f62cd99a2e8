// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.hpp"
#include "model/event.hpp"
#include "model/sample.hpp"
#include "verbs/context.hpp"

namespace rdmend::sources {

// How often each async event of a device has been heard: rdma_async_events_total. Every event stands at 0 from the start.
class EventCounts {
 public:
  EventCounts(std::string device, const std::vector<std::string>& ports);
  void count(const verbs::AsyncEvent& event);
  [[nodiscard]] std::vector<Sample> samples() const;

  static constexpr std::size_t kMostUnknown = 64;  // numbers that have no name here

 private:
  struct Key {
    std::string port, event, code;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): a false one of clang-tidy 14
  };
  std::string device_;
  std::map<Key, std::uint64_t> counts_;
  std::size_t unknown_ = 0;
};

// Reads one context's events on the loop. The watch ends by itself when the context is of no more use.
class AsyncEvents {
 public:
  struct Heard {
    std::function<void(const std::vector<verbs::AsyncEvent>&)> events;  // those of one wake-up, in order
    std::function<void(bool fatal)> ended;                              // DEVICE_FATAL, or the context can no longer be read
  };
  AsyncEvents(Reactor& reactor, std::shared_ptr<verbs::Context> context, Heard heard);

  static constexpr int kMostAtOnce = 256;  // events a wake-up

 private:
  void read();
  std::shared_ptr<verbs::Context> context_;
  Heard heard_;
  Reactor::Handle watch_;
};

}  // namespace rdmend::sources
