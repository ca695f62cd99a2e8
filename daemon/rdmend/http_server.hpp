// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reactor.hpp"
#include "base/result.hpp"
#include "rdmend/listener.hpp"

namespace rdmend::daemon {

struct HttpRequest {
  std::string method, path;
  // Of the query string and of a form body; the body's win.
  std::map<std::string, std::string, std::less<>> parameters;
  bool control = false;           // came over the control socket
  std::optional<uid_t> peer_uid;  // of a unix socket's other end

  // "" when absent.
  [[nodiscard]] const std::string& parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
};

// Answers one request, once, now or later; later calls and calls after the client has gone do nothing.
using Answer = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(const HttpRequest& request, const Answer& answer)>;

// libmicrohttpd on our loop: its epoll descriptor is watched there, it has no thread. One server listens on one socket.
// Headers, bodies, connections and time are capped; a slow or hostile client costs its own connection only.
class HttpServer {
 public:
  struct Limits {
    std::size_t connections = 256;
    std::size_t per_address = 128;
    std::size_t body = 64U * 1024;
    std::size_t headers = 32U * 1024;
    milliseconds idle{30'000};
    // From the first byte of a request to the last of its answer, however busily the client dribbles.
    milliseconds request{60'000};
  };

  static Result<std::unique_ptr<HttpServer>> start(Reactor& reactor, Listener listener, bool control, Limits limits, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] const Listener& listener() const;
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::daemon
