// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

// The HTTP servers: one for each address of `listen`, and the control socket.
class Servers {
 public:
  Servers(Reactor& reactor, HttpHandler handler) : reactor_(reactor), handler_(std::move(handler)) {}

  Result<void> open_control(const std::string& path, const std::string& group);
  // Serves exactly these addresses. All or nothing: when one cannot be had, those of before are served on.
  Result<void> listen_on(const std::vector<config::Listen>& wanted);
  void close_all();

 private:
  using Open = std::map<std::string, std::pair<config::Listen, std::unique_ptr<HttpServer>>>;
  Result<void> open(const config::Listen& where, Open& into);

  Reactor& reactor_;
  HttpHandler handler_;
  Open open_;
  std::unique_ptr<HttpServer> control_;
};

}  // namespace rdmend::daemon
