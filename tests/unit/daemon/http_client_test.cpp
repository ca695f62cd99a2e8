// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_client.hpp"

#include <catch2/catch.hpp>

#include "rdmend/http_server.hpp"
#include "rdmend/loop.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;

namespace {

config::Listen any_port() { return {"127.0.0.1", 0, {}, "127.0.0.1:0"}; }
config::Alertmanager to(milliseconds timeout = 5s) {
  config::Alertmanager out;
  out.timeout = timeout;
  return out;
}
std::string url(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port) + "/api/v2/alerts"; }

struct Got {
  std::optional<long> status;
  std::string error;
  auto taker() {
    return [this](long s, std::string e) {
      status = s;
      error = std::move(e);
    };
  }
};

}  // namespace

TEST_CASE("a POST arrives whole, its answer's status comes back, the moment it left is told") {
  Loop loop;
  std::string path;
  std::size_t requests = 0;
  auto listener = Listener::open(any_port());
  REQUIRE(listener);
  auto server = HttpServer::start(loop, std::make_shared<Listener>(std::move(*listener)), {.control = false}, [&](const HttpRequest& request, const Answer& answer) {
    path = request.path;
    ++requests;
    answer(requests < 3 ? HttpResponse{200, "{}"} : HttpResponse{503, "go away\n"});
  });
  REQUIRE(server);
  HttpClient client(loop);
  std::optional<nanoseconds> left;
  client.on_sent([&](nanoseconds since) { left = since; });

  Got first;
  client.set_cause(std::chrono::steady_clock::now());
  client.post(to(), url((*server)->listener()->port()), "[]", first.taker());
  client.set_cause(std::nullopt);
  REQUIRE(loop.run_until([&] { return first.status.has_value(); }, 10s));
  CHECK(first.status == 200);
  CHECK(path == "/api/v2/alerts");
  REQUIRE(left);
  CHECK(*left > 0ns);
  CHECK(*left < 5s);

  left.reset();
  Got second;  // without a cause nothing is measured
  client.post(to(), url((*server)->listener()->port()), std::string(60'000, ' '), second.taker());
  REQUIRE(loop.run_until([&] { return second.status.has_value(); }, 10s));
  CHECK(second.status == 200);
  CHECK_FALSE(left);

  Got third;
  client.post(to(), url((*server)->listener()->port()), "[]", third.taker());
  REQUIRE(loop.run_until([&] { return third.status.has_value(); }, 10s));
  CHECK(third.status == 503);
  CHECK(third.error == "HTTP status 503: go away");
}

TEST_CASE("an address where nobody listens is an error in words") {
  Loop loop;
  std::uint16_t port = 0;
  {
    auto listener = Listener::open(any_port());
    REQUIRE(listener);
    port = listener->port();
  }
  HttpClient client(loop);
  Got got;
  client.post(to(), url(port), "[]", got.taker());
  REQUIRE(loop.run_until([&] { return got.status.has_value(); }, 10s));
  CHECK(got.status == 0);
  CHECK(got.error.find("connect") != std::string::npos);
}

TEST_CASE("a server that accepts and never answers costs its own time-out, and no other request") {
  Loop loop;
  auto silent = Listener::open(any_port());
  REQUIRE(silent);
  auto listener = Listener::open(any_port());
  REQUIRE(listener);
  auto server = HttpServer::start(loop, std::make_shared<Listener>(std::move(*listener)), {.control = false},
                                  [&](const HttpRequest&, const Answer& answer) { answer({200, "{}"}); });
  REQUIRE(server);
  HttpClient client(loop);
  Got hung;
  Got fine;
  client.post(to(150ms), url(silent->port()), "[]", hung.taker());
  client.post(to(), url((*server)->listener()->port()), "[]", fine.taker());
  REQUIRE(loop.run_until([&] { return fine.status.has_value(); }, 10s));
  CHECK_FALSE(hung.status);
  REQUIRE(loop.run_until([&] { return hung.status.has_value(); }, 10s));
  CHECK(hung.status == 0);
  CHECK(hung.error.find("timed out") != std::string::npos);
}

TEST_CASE("a client may end with requests under way, and post again from an answer") {
  Loop loop;
  auto silent = Listener::open(any_port());
  REQUIRE(silent);
  int answers = 0;
  {
    HttpClient client(loop);
    std::function<void(long, std::string)> again = [&](long, const std::string&) {
      if (++answers < 3) client.post(to(50ms), url(silent->port()), "[]", again);
    };
    client.post(to(50ms), url(silent->port()), "[]", again);
    REQUIRE(loop.run_until([&] { return answers == 3; }, 10s));
    client.post(to(), url(silent->port()), "[]", again);
  }
  CHECK(answers == 3);
}

TEST_CASE("only http and https are spoken") {
  Loop loop;
  HttpClient client(loop);
  Got got;
  client.post(to(), "file:///etc/passwd", "[]", got.taker());
  REQUIRE(loop.run_until([&] { return got.status.has_value(); }, 10s));
  CHECK(got.status == 0);
}
