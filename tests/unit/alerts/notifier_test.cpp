// SPDX-License-Identifier: Apache-2.0
#include "alerts/notifier.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/virtual_reactor.hpp"

using namespace rdmend;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Keeps what was posted; the test answers when it likes.
struct Script : alerts::Transport {
  struct Post {
    std::string url;
    json body;
    std::function<void(long, std::string)> done;
  };
  std::vector<Post> posts;
  long answer_at_once = 0;

  void post(const config::Alertmanager&, const std::string& url, std::string body, std::function<void(long, std::string)> done) override {
    posts.push_back({url, json::parse(body), done});
    if (answer_at_once != 0) done(answer_at_once, {});
  }
  Post take() {
    REQUIRE_FALSE(posts.empty());
    auto first = std::move(posts.front());
    posts.erase(posts.begin());
    return first;
  }
};

struct Bench {
  explicit Bench(std::vector<std::string> urls = {"http://am:9093"}) {
    for (auto& url : urls) config.alertmanagers.push_back({url, 5s, {}, {}, {}, {}, false});
    config.external_labels = {{"instance", "h"}};
    notifier.emplace(loop, script, config);
  }
  void tell(const std::vector<Alert>& alerts) { notifier->update(alerts, loop.now()); }
  Alert alert(const std::string& device, AlertState state = AlertState::firing) {
    Alert out;
    out.rule = "Down";
    out.labels = {{"alertname", "Down"}, {"device", device}};
    out.state = state;
    out.active_at = loop.now().wall;
    if (state == AlertState::firing) out.fired_at = loop.now().wall;
    out.interval = 15s;
    return out;
  }
  Alert resolved(Alert alert) {
    alert.state = AlertState::inactive;
    alert.resolved_at = loop.now().wall;
    return alert;
  }
  alerts::AlertmanagerStatus status(std::size_t i = 0) { return notifier->status().at(i); }

  test::VirtualReactor loop;
  Script script;
  config::Config config;
  std::optional<alerts::Notifier> notifier;
};

std::string ends(const json& body) { return body.at(0).at("endsAt"); }

}  // namespace

TEST_CASE("G1: what fires is posted at once, pending is not, and each alert again every minute") {
  Bench b;
  b.script.answer_at_once = 200;
  b.tell({b.alert("a", AlertState::pending)});
  CHECK(b.script.posts.empty());
  const auto firing = b.alert("a");
  b.tell({firing});
  const auto first = b.script.take();
  CHECK(first.url == "http://am:9093/api/v2/alerts");
  REQUIRE(first.body.size() == 1);
  CHECK(first.body[0]["labels"] == json({{"alertname", "Down"}, {"device", "a"}, {"instance", "h"}}));

  b.loop.advance(59s);
  b.tell({firing});  // the same state told again is no news
  CHECK(b.script.posts.empty());
  b.loop.advance(1s);
  const auto again = b.script.take();
  CHECK(again.body[0]["startsAt"] == first.body[0]["startsAt"]);
  CHECK(ends(again.body) > ends(first.body));
  CHECK(b.status().sent == 2);
}

TEST_CASE("G1: an end is sent at once, repeated for fifteen minutes, then forgotten") {
  Bench b;
  b.script.answer_at_once = 200;
  const auto firing = b.alert("a");
  b.tell({firing});
  b.script.posts.clear();
  b.loop.advance(10s);
  b.tell({b.resolved(firing)});
  CHECK(ends(b.script.take().body) == "2025-12-18T00:00:10.000Z");
  b.loop.advance(15min);
  CHECK(b.script.posts.size() == 14);
  b.script.posts.clear();
  b.loop.advance(10min);
  CHECK(b.script.posts.empty());
}

TEST_CASE("an alert that resolved while it was pending is never told") {
  Bench b;
  b.tell({b.resolved(b.alert("a", AlertState::pending))});
  CHECK(b.script.posts.empty());
}

TEST_CASE("one request is under way for each Alertmanager; what changes meanwhile follows in its last state") {
  Bench b;
  const auto a = b.alert("a");
  b.tell({a});
  const auto first = b.script.take();
  const auto c = b.alert("c");
  b.tell({a, c});
  b.tell({b.resolved(a), c});
  CHECK(b.script.posts.empty());
  first.done(200, {});
  const auto second = b.script.take();
  REQUIRE(second.body.size() == 2);
  CHECK(second.body[0]["labels"]["device"] == "c");
  CHECK(second.body[1]["labels"]["device"] == "a");
  CHECK(second.body[1]["endsAt"] == second.body[1]["startsAt"]);
  second.done(200, {});
  CHECK(b.script.posts.empty());
}

TEST_CASE("G7: a hanging Alertmanager does not hold up another") {
  Bench b({"http://hangs:1", "http://well:2/"});
  b.tell({b.alert("a")});
  REQUIRE(b.script.posts.size() == 2);
  CHECK(b.script.posts[1].url == "http://well:2/api/v2/alerts");
  b.script.posts[1].done(200, {});
  b.tell({b.alert("a"), b.alert("b")});
  CHECK(b.script.posts.size() == 3);
  CHECK(b.status(0).queued == 1);
  CHECK(b.status(1).sent == 1);
}

TEST_CASE("G7: a change of state is tried again after five seconds until it is accepted, a re-send at its next turn") {
  Bench b;
  b.tell({b.alert("a")});
  b.script.take().done(500, {});
  CHECK(b.status().failed == 1);
  CHECK(b.status().last_error == "HTTP status 500");
  b.loop.advance(4s);
  CHECK(b.script.posts.empty());
  b.loop.advance(1s);
  b.script.take().done(0, "connection refused");
  CHECK(b.status().last_error == "connection refused");
  b.loop.advance(5s);
  b.script.take().done(200, {});
  CHECK(b.status().last_error.empty());
  b.loop.advance(60s);
  b.script.take().done(503, {});
  b.loop.advance(59s);
  CHECK(b.script.posts.empty());
  b.loop.advance(1s);
  CHECK(b.script.posts.size() == 1);
}

TEST_CASE("C6: what fired and was over while the Alertmanager was away is told when it is back, and so is what still fires") {
  Bench b;
  b.script.answer_at_once = 503;
  const auto over = b.alert("over");
  const auto lasts = b.alert("lasts");
  b.tell({over, lasts});
  b.loop.advance(20s);
  const auto ended = b.resolved(over);
  b.tell({ended, lasts});
  b.loop.advance(13min);
  CHECK(b.status().sent == 0);
  CHECK(b.script.posts.size() > 12U * 13U);  // tried every five seconds all the while, the latest state of each
  b.script.posts.clear();
  b.script.answer_at_once = 200;
  b.loop.advance(5s);
  REQUIRE(b.script.posts.size() == 1);
  const auto told = b.script.take().body;
  REQUIRE(told.size() == 2);
  for (const auto& alert : told) {
    const bool is_over = alert["labels"]["device"] == "over";
    CHECK(alert["startsAt"] == "2025-12-18T00:00:00.000Z");
    CHECK(alert["endsAt"] == (is_over ? "2025-12-18T00:00:20.000Z" : "2025-12-18T00:17:25.000Z"));
  }
  CHECK(b.status().sent == 2);
}

TEST_CASE("C6: an alert that was over and came again while its Alertmanager was away is told as it stands then, and its end when it comes") {
  Bench b;
  b.script.answer_at_once = 200;
  const auto first = b.alert("a");
  b.tell({first});
  b.script.answer_at_once = 503;
  b.loop.advance(10s);
  b.tell({b.resolved(first)});
  b.loop.advance(10s);
  const auto second = b.alert("a");
  b.tell({second});
  b.script.posts.clear();
  b.script.answer_at_once = 200;
  b.loop.advance(5s);
  REQUIRE(b.script.posts.size() == 1);
  CHECK(b.script.take().body[0]["startsAt"] == "2025-12-18T00:00:20.000Z");
  b.script.answer_at_once = 503;
  b.tell({b.resolved(second)});
  b.script.posts.clear();
  b.script.answer_at_once = 200;
  b.loop.advance(5s);
  REQUIRE(b.script.posts.size() == 1);
  CHECK(ends(b.script.take().body) == "2025-12-18T00:00:25.000Z");
}

TEST_CASE("G7: a batch that is refused waits for its turn, then goes one by one: a bad alert takes no other along") {
  Bench b;
  b.tell({b.alert("good"), b.alert("bad")});
  b.script.take().done(400, "bad label");
  b.loop.advance(59s);
  CHECK(b.script.posts.empty());
  b.loop.advance(1s);
  const auto good = b.script.take();
  CHECK(good.body.size() == 1);
  good.done(200, {});
  const auto bad = b.script.take();
  CHECK(bad.body[0]["labels"]["device"] == "bad");
  bad.done(400, "bad label");
  CHECK(b.status().sent == 1);
  CHECK(b.status().failed == 3);
}

TEST_CASE("G7: a thousand alerts go in batches of at most 256, by number and by size") {
  Bench b;
  b.script.answer_at_once = 200;
  std::vector<Alert> many;
  for (int i = 0; i < 1000; ++i) many.push_back(b.alert("d" + std::to_string(i)));
  b.tell(many);
  REQUIRE(b.script.posts.size() == 4);
  CHECK(b.script.posts[0].body.size() == 256);
  CHECK(b.script.posts[3].body.size() == 1000 - 3 * 256);

  b.script.posts.clear();
  many.resize(10);
  for (auto& alert : many) {
    alert.fired_at += 1ms;
    alert.annotations = {{"description", std::string(200U * 1024, 'x')}};
  }
  b.tell(many);
  CHECK(b.script.posts.size() == 5);
}

TEST_CASE("G7: the queue is bounded: the oldest is dropped and counted, and comes back with its next re-send") {
  Bench b;
  b.config.notifications.queue = 3;
  b.notifier->reconfigure(b.config);
  b.tell({b.alert("under way")});
  std::vector<Alert> five;
  for (const auto* name : {"1", "2", "3", "4", "5"}) five.push_back(b.alert(name));
  b.tell(five);
  CHECK(b.status().dropped == 2);
  CHECK(b.status().queued == 3);
  b.script.take().done(200, {});
  const auto kept = b.script.take();
  REQUIRE(kept.body.size() == 3);
  CHECK(kept.body[0]["labels"]["device"] == "3");
  kept.done(200, {});
  b.loop.advance(60s);
  CHECK(b.script.take().body.size() >= 2);
}

TEST_CASE("after a reload what is new is told, what stays keeps its state, what went is silent") {
  Bench b;
  b.script.answer_at_once = 200;
  b.tell({b.alert("a")});
  b.script.posts.clear();
  b.config.alertmanagers.push_back({"http://second:1", 5s, {}, {}, {}, {}, false});
  b.notifier->reconfigure(b.config);
  REQUIRE(b.script.posts.size() == 1);
  CHECK(b.script.take().url == "http://second:1/api/v2/alerts");
  CHECK(b.status(0).sent == 1);
  b.config.external_labels = {{"instance", "renamed"}};
  b.notifier->reconfigure(b.config);
  CHECK(b.script.posts.size() == 2);
  b.script.posts.clear();
  b.config.alertmanagers.clear();
  b.notifier->reconfigure(b.config);
  b.loop.advance(5min);
  CHECK(b.script.posts.empty());
}

TEST_CASE("an answer that comes after the notifier has gone harms nobody") {
  Bench b;
  b.tell({b.alert("a")});
  const auto late = b.script.take();
  b.notifier.reset();
  late.done(200, {});
}
