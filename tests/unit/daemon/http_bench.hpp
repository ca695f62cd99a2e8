// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <catch2/catch.hpp>

#include "rdmend/http_server.hpp"
#include "rdmend/loop.hpp"
#include "support/raw_client.hpp"
#include "support/until.hpp"

namespace rdmend::test {

// A server on the real loop, with a handler that tests steer by the path they ask for.
struct HttpBench {
  static config::Listen tcp(const std::string& host = "127.0.0.1") { return {host, 0, {}, host + ":0"}; }

  explicit HttpBench(daemon::HttpServer::Limits limits = {}, const config::Listen& where = tcp()) {
    auto listener = daemon::Listener::open(where);
    REQUIRE(listener);
    auto made = daemon::HttpServer::start(loop, std::make_shared<daemon::Listener>(std::move(*listener)),
                                          {.control = !where.path.empty(), .limits = limits, .how = where},
                                          [this](const auto& request, const auto& answer) { handle(request, answer); });
    REQUIRE(made);
    server = std::move(*made);
    port = server->listener()->port();
  }
  void handle(const daemon::HttpRequest& request, const daemon::Answer& answer) {
    last = request;
    if (request.path == "/later")
      waiting = answer;
    else if (request.path == "/throw")
      throw std::runtime_error("of this test: expected in the log");
    else if (request.path == "/big")
      answer({200, std::string(8U << 20U, 'x'), "text/plain"});
    else if (request.path == "/page")
      answer({200, std::string(100'000, 'y'), "text/plain"});
    else
      answer({200, "hello " + request.path + "\n", "text/plain"});
  }
  bool until(const std::function<bool()>& condition, milliseconds bound = seconds{10}) { return test::until(loop, condition, bound); }
  // A well-behaved client gets its answer.
  bool serves() {
    auto client = RawClient::tcp(port);
    client.get("/fine");
    return until([&] { return client.got("hello /fine"); });
  }

  daemon::Loop loop;
  std::unique_ptr<daemon::HttpServer> server;
  std::uint16_t port = 0;
  daemon::HttpRequest last;
  daemon::Answer waiting;
};

}  // namespace rdmend::test
