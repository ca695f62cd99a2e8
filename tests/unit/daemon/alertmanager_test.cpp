// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "alerts/notifier.hpp"
#include "rdmend/http_client.hpp"
#include "rdmend/http_server.hpp"
#include "rdmend/loop.hpp"
#include "support/alertmanager.hpp"
#include "support/raw_client.hpp"
#include "support/until.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

config::Alertmanager at(const std::string& url, milliseconds timeout = 5s) {
  config::Alertmanager out;
  out.url = url;
  out.timeout = timeout;
  return out;
}
config::Listen any_port() { return {"127.0.0.1", 0, {}, "127.0.0.1:0"}; }

// The JSON that a GET answers; null while there is none.
json fetch(Loop& loop, std::uint16_t port, const std::string& target) {
  auto client = test::RawClient::tcp(port);
  client.send("GET " + target + " HTTP/1.0\r\nHost: x\r\n\r\n");
  test::until(loop, [&] { return client.closed(); }, 5s);
  const auto& text = client.received();
  const auto body = text.find("\r\n\r\n");
  if (body == std::string::npos) return {};
  return json::parse(text.substr(body + 4), nullptr, false);
}

// The loop turns while a server comes up: bounded, by condition.
void wait_ready(Loop& loop, std::uint16_t port) {
  bool ready = false;
  REQUIRE(test::until(
      loop,
      [&] {
        auto client = test::RawClient::tcp(port);
        client.send("GET /-/ready HTTP/1.0\r\n\r\n");
        test::until(loop, [&] { return client.closed(); }, 500ms);
        ready = client.got(" 200 ");
        return ready;
      },
      30s));
}

Alert firing(Timestamp now, const std::string& device) {
  Alert out;
  out.rule = "RdmaPortDown";
  out.labels = {{"alertname", "RdmaPortDown"}, {"device", device}, {"severity", "critical"}};
  out.annotations = {{"summary", device + " is down"}};
  out.state = AlertState::firing;
  out.active_at = out.fired_at = now;
  out.interval = 1s;
  return out;
}

// A notifier that tells one real Alertmanager, once a second.
struct Told {
  Told() {
    wait_ready(loop, real.port());
    config.alertmanagers = {at(real.url())};
    config.notifications.resend = 1s;
    notifier.emplace(loop, client, config);
  }
  json alerts() { return fetch(loop, real.port(), "/api/v2/alerts"); }
  [[nodiscard]] alerts::AlertmanagerStatus status() const { return notifier->status()[0]; }

  test::ScratchDirectory scratch{"am"};
  test::Alertmanager real{scratch};
  Loop loop;
  config::Config config;
  HttpClient client{loop};
  std::optional<alerts::Notifier> notifier;
};

}  // namespace

TEST_CASE("G7: real Alertmanagers get every alert, though one is dead, one hangs and one is broken") {
  const test::ScratchDirectory scratch("am");
  test::Alertmanager first(scratch, "first");
  test::Alertmanager second(scratch, "second");
  Loop loop;
  auto silent = Listener::open(any_port());
  auto broken_listener = Listener::open(any_port());
  REQUIRE(silent);
  REQUIRE(broken_listener);
  const auto broken_port = broken_listener->port();
  auto broken = HttpServer::start(loop, std::make_shared<Listener>(std::move(*broken_listener)),
                                  {.control = false, .limits = {.body = std::size_t{1} << 20U}},  // a whole batch: what it says is 500 each time
                                  [](const HttpRequest&, const Answer& answer) { answer({500, "broken\n", "text/plain"}); });
  REQUIRE(broken);
  wait_ready(loop, first.port());
  wait_ready(loop, second.port());

  config::Config config;
  config.external_labels = {{"instance", "host-17"}};
  config.external_url = "http://host-17:9879";
  config.alertmanagers = {at("http://127.0.0.1:" + std::to_string(test::free_port())),
                          at("http://127.0.0.1:" + std::to_string(silent->port()), 300ms),
                          at("http://127.0.0.1:" + std::to_string(broken_port)), at(first.url()), at(second.url() + "/")};
  HttpClient client(loop);
  alerts::Notifier notifier(loop, client, config);

  // 300 alerts are more than a batch; one has bytes that are no UTF-8.
  std::vector<Alert> all;
  for (int i = 0; i < 300; ++i) all.push_back(firing(loop.now().wall, "rxe" + std::to_string(i)));
  all[7].annotations.set("comm", "a\xff\xfe b");
  notifier.update(all, loop.now());
  REQUIRE(test::until(
      loop,
      [&] {
        const auto s = notifier.status();
        return s[0].failed > 0 && s[1].failed > 0 && s[2].failed > 0 && s[3].sent == 300 && s[4].sent == 300;
      },
      20s));
  const auto status = notifier.status();
  CHECK(status[0].last_error.find("connect") != std::string::npos);
  CHECK(status[1].last_error.find("timed out") != std::string::npos);
  CHECK(status[2].last_error == "HTTP status 500: broken");
  CHECK(status[3].failed == 0);

  for (const auto port : {first.port(), second.port()}) {
    const auto told = fetch(loop, port, "/api/v2/alerts");
    REQUIRE(told.is_array());
    CHECK(told.size() == 300);
  }
  const auto one = fetch(loop, first.port(), "/api/v2/alerts?filter=device%3D%22rxe7%22");
  REQUIRE(one.size() == 1);
  CHECK(one[0]["labels"] == json({{"alertname", "RdmaPortDown"}, {"device", "rxe7"}, {"instance", "host-17"}, {"severity", "critical"}}));
  CHECK(one[0]["annotations"]["comm"] == "a\xef\xbf\xbd\xef\xbf\xbd b");
  CHECK(one[0]["generatorURL"].get<std::string>().starts_with("http://host-17:9879/api/v1/query?query="));

  // An end arrives as an end: the alert is active no more.
  for (auto& alert : all) {
    alert.state = AlertState::inactive;
    alert.resolved_at = loop.now().wall;
  }
  notifier.update(all, loop.now());
  REQUIRE(loop.run_until([&] { return notifier.status()[3].sent == 600; }, 20s));
  CHECK(fetch(loop, first.port(), "/api/v2/alerts").empty());
}

TEST_CASE("C6, G7: an Alertmanager that comes back is told what it missed") {
  const test::ScratchDirectory scratch("am");
  Loop loop;
  config::Config config;
  config.alertmanagers = {at("http://127.0.0.1:9")};
  HttpClient client(loop);
  alerts::Notifier notifier(loop, client, config);
  notifier.update(std::vector{firing(loop.now().wall, "rxe1")}, loop.now());
  REQUIRE(loop.run_until([&] { return notifier.status()[0].failed > 0; }, 10s));

  test::Alertmanager late(scratch);
  config.alertmanagers = {at(late.url())};
  notifier.reconfigure(config);
  REQUIRE(loop.run_until([&] { return notifier.status()[0].sent == 1; }, 30s));
  CHECK(fetch(loop, late.port(), "/api/v2/alerts").size() == 1);
}

TEST_CASE("G7: a real Alertmanager refuses a bad label; the alerts beside it arrive") {
  Told told;
  auto bad = firing(told.loop.now().wall, "bad");
  bad.labels.set("not a name", "x");
  told.notifier->update(std::vector{bad, firing(told.loop.now().wall, "good")}, told.loop.now());
  REQUIRE(told.loop.run_until([&] { return told.status().sent == 1; }, 20s));
  CHECK(told.status().failed >= 2);
  const auto alerts = told.alerts();
  REQUIRE(alerts.size() == 1);
  CHECK(alerts[0]["labels"]["device"] == "good");
}

TEST_CASE("G1: an alert fires at a real Alertmanager without a gap, for longer than one endsAt lasts, and ends there when nobody tells it any more") {
  Told told;
  const auto alert = firing(told.loop.now().wall, "rxe1");
  told.notifier->update(std::vector{alert}, told.loop.now());
  for (std::uint64_t sent = 1; sent <= 7; ++sent) {  // endsAt is four re-sends away
    REQUIRE(told.loop.run_until([&] { return told.status().sent >= sent; }, 20s));
    CHECK(told.alerts().size() == 1);
  }
  CHECK(told.loop.now().wall - alert.fired_at > 4s);
  told.notifier.reset();
  CHECK(told.alerts().size() == 1);
  CHECK(test::until(told.loop, [&] { return told.alerts().empty(); }, 20s));
}
