// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reactor.hpp"
#include "base/result.hpp"
#include "rdmend/form.hpp"
#include "rdmend/listener.hpp"

namespace rdmend::daemon {

struct HttpRequest {
  std::string method, path;
  Parameters parameters;          // of a form body, then those of the query string
  bool control = false;           // came over the control socket
  std::optional<uid_t> peer_uid;  // of a unix socket's other end

  // The first of that name; "" when absent.
  [[nodiscard]] const std::string& parameter(std::string_view name) const;
  // All of that name.
  [[nodiscard]] std::vector<std::string_view> values(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

// Answers one request, once, now or later; later calls and calls after the client has gone do nothing.
using Answer = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(const HttpRequest& request, const Answer& answer)>;

// libmicrohttpd on our loop: its epoll descriptor is watched there, it has no thread. One server listens on one socket, which it
// accepts from itself. Headers, bodies, answers, connections and time are capped; a slow or hostile client costs its own
// connection only, for at each limit the oldest connection of whoever has the most makes room for the next (Clients).
class HttpServer {
 public:
  struct Limits {
    std::size_t connections = 256;
    std::size_t body = std::size_t{64} * 1024;
    std::size_t headers = std::size_t{32} * 1024;
    std::size_t answers = 64U << 20U;  // bytes that are being sent to all; a single answer may be larger
    milliseconds idle{30'000};
    // From the first byte of a request to the last of its answer, however busily the client dribbles.
    milliseconds request{60'000};
    // With TLS, a handshake takes some milliseconds of the loop. Of connections whose first request has not come so many are let in
    // at once, and each for so long.
    std::size_t handshakes = 16;
    milliseconds handshake{10'000};
  };
  struct Options {
    bool control = false;
    Limits limits{};
    config::Listen how{};  // its tls and basic_auth
  };

  // Several servers may share a listener for the moment in which one takes over from another.
  static Result<std::unique_ptr<HttpServer>> start(Reactor& reactor, std::shared_ptr<const Listener> listener, Options options, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::shared_ptr<const Listener> listener() const;
  [[nodiscard]] std::size_t connections() const;
  // Connections that were ended by us: to make room, or because they were too slow.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::daemon
