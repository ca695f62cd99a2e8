// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.hpp"
#include "base/worker.hpp"
#include "sources/async_events.hpp"

namespace rdmend::sources {

// Keeps one device open for its events: opens it (again, when that fails at first: the device node appears a moment after the
// device), and closes it the moment its uverbs device goes, since the kernel lets no device go that is open.
class VerbsEvents {
 public:
  using Hear = std::function<void(const std::vector<verbs::AsyncEvent>&)>;
  VerbsEvents(Reactor& reactor, std::string device, std::optional<std::uint32_t> index, std::vector<std::string> ports, Hear hear);
  ~VerbsEvents();  // never waits
  VerbsEvents(const VerbsEvents&) = delete;
  VerbsEvents& operator=(const VerbsEvents&) = delete;

  void start();
  void uverbs_removed(const std::string& name);
  void uverbs_added();
  // Closes for good; `closed` runs when that is done.
  void end(std::function<void()> closed);
  // Null until the device was open once: what cannot be heard is not said to be 0.
  [[nodiscard]] const EventCounts* counts() const { return counts_ ? &*counts_ : nullptr; }
  [[nodiscard]] bool open() const { return context_ != nullptr; }

  static constexpr milliseconds kFirstRetry{50};
  static constexpr milliseconds kLastRetry{60'000};
  static constexpr milliseconds kWorthSaying{1000};  // shorter waits are the device node's that is not there yet
  static constexpr milliseconds kAfterFatal{30'000};  // should no uevent say that the device is back

 private:
  void try_open();
  void on_opened(Result<std::shared_ptr<verbs::Context>> opened);
  void retry_later();
  void close(std::function<void()> closed = {});

  Reactor& reactor_;
  std::string device_;
  std::optional<std::uint32_t> index_;
  std::vector<std::string> ports_;
  Hear hear_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<verbs::Context> context_;
  std::unique_ptr<AsyncEvents> events_;
  std::optional<EventCounts> counts_;
  std::set<std::string> removed_;  // while an opening is under way
  bool opening_ = false;
  bool wanted_ = false;  // false: its uverbs device has gone, or we are ending
  milliseconds delay_ = kFirstRetry;
  bool said_closed_ = false;
  log::Limiter complaints_{std::chrono::minutes{10}};
  Reactor::Handle retry_;
};

}  // namespace rdmend::sources
