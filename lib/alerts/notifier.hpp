// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/reactor.hpp"
#include "config/config.hpp"
#include "model/decision.hpp"

namespace rdmend::alerts {

// One POST, made by the daemon's HTTP client; `done` gets the HTTP status, or 0 and words.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void post(const config::Alertmanager& to, const std::string& url, std::string body,
                    std::function<void(long status, std::string error)> done) = 0;
};

struct AlertmanagerStatus {
  std::string url;
  std::uint64_t sent = 0, failed = 0, dropped = 0;
  std::size_t queued = 0;
  std::string last_error;
  Timestamp last_success{};
};

// Sends alerts to every Alertmanager, each on its own: one request under way each, a bounded queue, oldest dropped and
// counted. Re-sends come from the alerts' state, never from a retry queue.
class Notifier {
 public:
  Notifier(Reactor& reactor, Transport& transport, const config::Config& config);
  ~Notifier();
  void reconfigure(const config::Config& config);
  // Sends what changed at once, and each alert again every `resend`; resolved ones for 15 minutes.
  void update(std::span<const Alert> alerts, Now now);
  [[nodiscard]] std::vector<AlertmanagerStatus> status() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::alerts
