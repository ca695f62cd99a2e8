// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rdmend/http_server.hpp"
#include "rdmend/sockets.hpp"

namespace rdmend::daemon {

// The HTTP servers: one for each address of `listen`, and the control socket. An address that a passed socket has is served on that.
class Servers {
 public:
  Servers(Reactor& reactor, HttpHandler handler, std::vector<PassedSocket> passed = {})
      : reactor_(reactor), handler_(std::move(handler)), passed_(std::move(passed)) {}

  Result<void> open_control(const std::string& path, const std::string& group);
  // Serves exactly these addresses, as they say; one whose tls or basic_auth changed keeps its socket. All or nothing: when one
  // cannot be had, those of before are served on.
  Result<void> listen_on(const std::vector<config::Listen>& wanted);
  // One line for each passed socket that nothing is served on.
  void tell_unused() const;
  void close_all();

  struct Status {
    std::string address;  // as `listen` has it; "control" for the control socket
    std::size_t connections = 0;
    std::uint64_t dropped = 0;  // since it is listened on with this tls and basic_auth
  };
  [[nodiscard]] std::vector<Status> status() const;

 private:
  struct One {
    config::Listen how;
    std::unique_ptr<HttpServer> server;
  };
  using Open = std::map<std::string, One>;
  Result<std::shared_ptr<const Listener>> listener_for(const config::Listen& where, const SocketAccess& access);
  Result<void> open(const config::Listen& where, std::shared_ptr<const Listener> listener, Open& into);

  Reactor& reactor_;
  HttpHandler handler_;
  std::vector<PassedSocket> passed_;
  std::string control_path_;
  Open open_;
  std::unique_ptr<HttpServer> control_;
};

}  // namespace rdmend::daemon
