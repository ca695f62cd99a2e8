// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "alerts/notifier.hpp"
#include "alerts/payload.hpp"

namespace rdmend::alerts {

inline constexpr std::size_t kMostInBatch = 256;
inline constexpr std::size_t kMostBytesInBatch = std::size_t{256} * 1024;
// After a failure the lane rests that long; a change of state is then tried again, a mere re-send waits for its next turn.
inline constexpr milliseconds kRetry{5'000};
inline constexpr milliseconds kResolvedRetention{15 * 60'000};

// The way to one Alertmanager: what of each alert it has accepted, what waits, and the one request that is under way.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  Lane(Reactor& reactor, Transport& transport, config::Alertmanager to);

  void configure(Envelope envelope, std::size_t queue_limit);
  // All alerts as they stand now; queues and sends those that are due.
  void offer(const std::shared_ptr<const std::vector<Alert>>& alerts);
  [[nodiscard]] AlertmanagerStatus status() const;
  [[nodiscard]] const config::Alertmanager& destination() const { return to_; }

 private:
  // What is told about an alert; another mark is another thing to tell.
  struct Mark {
    AlertState state = AlertState::inactive;
    Timestamp fired_at{};
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  struct Track {
    std::shared_ptr<const Alert> latest;
    Mark offered;   // last put into a request, or dropped
    Mark accepted;  // last that the Alertmanager took
    Instant due{};
    bool queued = false, flying = false;
    bool alone = false;  // was in a batch that was refused: sent by itself, so that one bad alert does not take others along
    std::uint64_t seen = 0;
  };
  using Keys = std::vector<std::string>;

  void enqueue(const std::string& key, Track& track);
  void drop_oldest();
  void forget_unseen();
  Keys take_batch(std::string& body);
  void pump();
  void finish(const Keys& keys, long status, const std::string& error);
  void settle(Track& track, bool accepted, bool refused, bool crowd);
  void arm();

  Reactor& reactor_;
  Transport& transport_;
  config::Alertmanager to_;
  std::string url_;
  Envelope envelope_;
  std::size_t queue_limit_ = 10'000;
  std::unordered_map<std::string, Track> tracks_;
  std::deque<std::string> queue_;
  bool busy_ = false;
  Instant rest_until_{};
  std::uint64_t generation_ = 0;
  std::shared_ptr<const std::vector<Alert>> alerts_;
  Reactor::Handle timer_;
  AlertmanagerStatus status_;
};

}  // namespace rdmend::alerts
