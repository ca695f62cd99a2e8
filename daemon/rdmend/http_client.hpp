// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "alerts/notifier.hpp"
#include "base/reactor.hpp"

namespace rdmend::daemon {

// POSTs by libcurl's multi_socket on the loop: no thread of its own but libcurl's resolver's, nothing blocks.
class HttpClient : public alerts::Transport {
 public:
  explicit HttpClient(Reactor& reactor);
  ~HttpClient() override;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void post(const config::Alertmanager& to, const std::string& url, std::string body,
            std::function<void(long status, std::string error)> done) override;

  // The time that POSTs made from now on are due to (the event behind them), for measuring; none ends it.
  void set_cause(std::optional<Instant> cause);
  // Called when the last byte of a POST with a cause was handed to its socket.
  void on_sent(std::function<void(nanoseconds since_cause)> callback);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rdmend::daemon
