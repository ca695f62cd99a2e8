// SPDX-License-Identifier: Apache-2.0
// Stories of what keeps rdmend from acting: mode, allow list, budgets, hold-downs, the breaker, the operator.
#include "scenarios/story.hpp"

using namespace rdmend;
using namespace rdmend::test;

namespace {

std::size_t raised(const Story& story) {
  return static_cast<std::size_t>(std::count_if(story.host.qps.begin(), story.host.qps.end(), [](const auto& item) { return item.second.timer == 4; }));
}

}  // namespace

TEST_CASE("mode observe decides everything and does nothing") {
  Story story;
  story.config.mode = config::Mode::observe;
  story.open();
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step(kRaise), Story::step("advise", {{"about", "receive_queue"}})});
  story.pass(seconds{70});
  SECTION("with a hand that can read") {
    story.fire(alert);
    story.pass(std::chrono::minutes{1});
    CHECK(story.lines().at(0) == "dry_run " + kQp17 + ": mode observe: would be done: code 1 (0.01 ms) -> code 4 (0.04 ms)");
    for (const auto& request : story.host.requests) CHECK(request.kind == wire::HandRequest::Kind::query);
  }
  SECTION("without one, as when only observing is granted") {
    story.host.why_unavailable = "acting is not granted";
    story.fire(alert);
    story.pass(std::chrono::minutes{1});
    CHECK(story.lines().at(0) ==
          "dry_run " + kQp17 + ": mode observe: would be done: x 4, at most 10 ms (its timer cannot be read: acting is not granted)");
    CHECK(story.host.requests.empty());
  }
  CHECK(story.lines().at(1).rfind("succeeded rxe2/1: The responder rxe2/1 sent 400 RNR NAKs/s", 0) == 0);  // an advice touches nothing
  story.pass(std::chrono::hours{3});
  CHECK(story.lines().size() == 2);  // no line a tick
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("the operator lets it act for a while, then it observes again by itself") {
  Story story;
  story.config.mode = config::Mode::observe;
  story.open();
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step(kRaise)});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{5});
  REQUIRE(story.count(kRaise, Verdict::dry_run) == 1);
  CHECK(story.executor->mode_text(story.loop.now()) == "observe");
  story.executor->set_mode(config::Mode::act, std::chrono::minutes{20}, story.loop.now());
  CHECK(story.executor->mode() == config::Mode::act);
  CHECK(story.executor->mode_text(story.loop.now()) == "act (operator, 20m left)");
  story.pass(seconds{50});
  CHECK(story.executor->mode_text(story.loop.now()) == "act (operator, 20m left)");
  CHECK(story.host.qps[17].timer == 4);
  story.pass(std::chrono::minutes{19} + seconds{9});
  CHECK(story.executor->mode_text(story.loop.now()) == "act (operator, 1s left)");
  story.pass(seconds{2});
  CHECK(story.executor->mode() == config::Mode::observe);
  CHECK(story.last() == "succeeded host: the operator's override has ended: mode observe as configured");
  CHECK(story.host.qps[17].timer == 4);
  story.resolve(alert);
  story.pass(std::chrono::minutes{11});  // what is due is given back, in mode observe too
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("the operator's brake holds at once, and outlives a restart") {
  Story story;
  story.host.add(17, 1);
  story.pass(seconds{20});
  story.executor->set_mode(config::Mode::observe, std::nullopt, story.loop.now());
  CHECK(story.executor->mode_text(story.loop.now()) == "observe (operator)");
  story.crash();
  story.open();
  CHECK(story.executor->mode_text(story.loop.now()) == "observe (operator)");
  story.raise(seconds{60});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.count(kRaise, Verdict::dry_run) == 1);
}

TEST_CASE("a kind that is not allowed is refused, once, until it is allowed") {
  Story story;
  story.config.remedies.allow = {"advise"};
  story.open();
  story.host.add(17, 1);
  story.pass(seconds{20});
  story.raise(std::chrono::hours{2});
  CHECK(story.lines() == Lines{"refused rxe2/1: remedies.allow does not list raise_min_rnr_timer"});
  story.config.remedies.allow = {kRaise};
  story.executor->reconfigure(story.config);
  story.pass(seconds{5});
  CHECK(story.host.qps[17].timer == 4);
}

TEST_CASE("an alert without a device or a port is refused with the label that is missing") {
  Story story;
  auto alert = story.alert({Story::step(kRaise), Story::step("advise", {{"about", "timeout"}})});
  alert.labels = {{"alertname", "RdmaRnrNakStorm"}, {"device", "rxe2"}};
  story.fire(alert);
  story.pass(std::chrono::minutes{5});
  CHECK(story.lines() == Lines{"refused rxe2/: the alert has no label 'port', so there is no port to act on",
                               "refused rxe2/: the alert has no label 'port', so there is no port to advise on"});
}

TEST_CASE("what forbids the hand to act is said in its own words") {
  Story story;
  story.host.add(17, 1);
  story.pass(seconds{20});
  SECTION("there is no hand") { story.host.why_unavailable = "acting is not granted: rdmend-hand is not installed"; }
  SECTION("it may not") { story.host.probe_error = "acting is not granted: rdmend-hand is not installed"; }
  story.raise(seconds{5});
  CHECK(story.lines() == Lines{"refused rxe2/1: acting is not granted: rdmend-hand is not installed"});
  story.host.why_unavailable.clear();
  story.host.probe_error.clear();
  story.pass(std::chrono::minutes{3});  // it is tried again while the alert fires
  CHECK(story.host.qps[17].timer == 4);
}

TEST_CASE("nothing to raise is a refusal that says what was looked at") {
  Story story;
  const auto alert = story.alert({Story::step(kRaise)});
  SECTION("nobody receives") {
    story.host.add(17, 1).receives = false;
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(story.last() == "refused rxe2/1: none of the 1 RC QPs of processes in RTR or RTS on rxe2/1 received anything between two dumps");
  }
  SECTION("all are at the ceiling") {
    story.host.add(17, 0);
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(story.last() == "refused rxe2/1: 1 of the 1 receiving QPs on rxe2/1 wait 10 ms or longer already, the ceiling");
  }
  SECTION("the device does not answer") {
    story.host.dumps_fail = true;
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(story.last() == "refused rxe2/1: no fresh list of the QPs of rxe2 within 10s");
  }
}

TEST_CASE("G8: budgets: a target, a process, the host") {
  Story story;
  for (std::uint32_t qpn = 1; qpn <= 6; ++qpn) story.host.add(qpn, 1, qpn <= 4 ? 100 : 200);
  story.pass(seconds{20});
  const auto alert = story.alert({Story::step(kRaise)});
  SECTION("a process") {
    story.config.remedies.process = {3, std::chrono::minutes{1}};
    story.open();
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(raised(story) == 5);
    CHECK(story.lines().at(0) ==
          "refused rxe2/1 qpn 4 (ib_send_bw, pid 100): the budget of process 100 is spent (3 at once, one more each 1m)");
  }
  SECTION("the host") {
    story.config.remedies.host = {2, std::chrono::minutes{1}};
    story.open();
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(raised(story) == 2);
    CHECK(story.count(kRaise, Verdict::refused) == 4);
  }
  SECTION("a target") {
    story.config.remedies.qp = {0, std::chrono::minutes{1}};
    story.open();
    story.fire(alert);
    story.pass(seconds{5});
    CHECK(raised(story) == 0);
    CHECK(story.lines() == Lines{"refused rxe2/1 qpn 1 (ib_send_bw, pid 100) and 5 more: the budget of rxe2/1 qpn 1 (ib_send_bw, pid 100) is spent"
                                 " (0 at once, one more each 1m); so for all 6 targets"});
  }
}

TEST_CASE("a target is left alone for a while after an action, twice as long each time") {
  Story story;
  story.config.remedies.qp = {100, seconds{1}};
  story.config.remedies.hold_down = std::chrono::minutes{2};
  story.open();
  story.host.add(17, 1);
  story.mends = false;  // so that each attempt is taken back
  const auto alert = story.alert({Story::step(kRaise)});
  story.pass(seconds{70});
  CHECK(story.attempts(alert) == 1);
  CHECK(story.attempts(alert) == 1);  // 2 minutes have not passed
  CHECK(story.last().find(kQp17 + " was acted on lately and is left alone until ") != std::string::npos);
  story.pass(seconds{90});
  CHECK(story.attempts(alert) == 2);
  story.pass(std::chrono::minutes{2});
  CHECK(story.attempts(alert) == 2);  // 4 minutes now
  story.pass(std::chrono::minutes{2});
  CHECK(story.attempts(alert) == 3);
}

TEST_CASE("G8, G9: the breaker opens when too much of the host is to be acted on, and stays open until it is reset") {
  Story story;
  story.config.remedies.hold_down = seconds{1};
  story.open();
  for (std::uint32_t qpn = 1; qpn <= 12; ++qpn) story.host.add(qpn, 1);
  story.pass(seconds{20});
  const auto alert = story.raise(seconds{5});
  const std::string why = "12 of the host's 12 RC QPs would be acted on within 1m, more than 50 %";
  CHECK(raised(story) == 0);
  CHECK(story.executor->breaker_open());
  CHECK(story.executor->breaker_text() == "open: " + why);
  CHECK(story.lines().at(0) == "refused rxe2/1 qpn 1 (ib_send_bw, pid 812) and 11 more: the breaker has opened: " + why +
                                   "; `rdmendctl breaker reset` closes it");
  story.pass(std::chrono::hours{1});
  CHECK(raised(story) == 0);
  CHECK(story.last() == "refused rxe2/1: the breaker is open (" + why + "); `rdmendctl breaker reset` closes it");
  CHECK(story.lines().size() == 2);

  story.crash();
  story.open();
  CHECK(story.executor->breaker_open());
  for (std::uint32_t qpn = 8; qpn <= 12; ++qpn) story.host.qps.erase(qpn);
  story.executor->resume();
  story.fire(alert);
  story.pass(seconds{5});
  CHECK(raised(story) == 0);
  story.executor->reset_breaker(story.loop.now());
  CHECK_FALSE(story.executor->breaker_open());
  CHECK(story.executor->breaker_text() == "closed");
  story.pass(seconds{5});
  CHECK(raised(story) == 7);  // fewer than breaker_least
}

TEST_CASE("the breaker does not open in mode observe, but says that it would") {
  Story story;
  story.config.mode = config::Mode::observe;
  story.open();
  for (std::uint32_t qpn = 1; qpn <= 12; ++qpn) story.host.add(qpn, 1);
  story.pass(seconds{20});
  story.raise(seconds{5});
  CHECK_FALSE(story.executor->breaker_open());
  CHECK(story.last().find("the breaker would open: 12 of the host's 12 RC QPs") != std::string::npos);
}

TEST_CASE("the operator takes one action back") {
  Story story;
  story.host.add(17, 1);
  story.pass(seconds{20});
  story.fire(story.alert({Story::step(kRaise), Story::step("advise", {{"about", "timeout"}})}));
  story.pass(seconds{40});
  const auto id = story.action("held").id;
  REQUIRE(id != 0);
  CHECK(story.executor->undo(id + 100, story.loop.now()).error().message == fmt::format("there is no action {}", id + 100));
  REQUIRE(story.executor->undo(id, story.loop.now()));
  CHECK(story.executor->undo(id, story.loop.now()).error().message == fmt::format("action {} is being undone already", id));
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last() == "undone " + kQp17 + ": the operator asked for it: min_rnr_timer of 1 QP given back, code 4 (0.04 ms) -> code 1 (0.01 ms)");
  CHECK(story.executor->undo(id, story.loop.now()).error().message ==
        fmt::format("action {} (raise_min_rnr_timer) has ended (undone): nothing is left to undo", id));
  story.pass(std::chrono::hours{1});
  CHECK(story.host.qps[17].timer == 1);  // the alert still fires; the operator's word stands
}

TEST_CASE("the operator takes an action back before it was verified, and the next step still comes") {
  Story story;
  story.host.add(17, 1);
  story.pass(seconds{20});
  story.fire(story.alert({Story::step(kRaise), Story::step("advise", {{"about", "timeout"}})}));
  story.pass(seconds{5});
  REQUIRE(story.executor->undo(story.action("settling").id, story.loop.now()));
  story.pass(seconds{40});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.count("advise", Verdict::succeeded) == 1);
  CHECK(story.count(kRaise, Verdict::succeeded) == 0);
}

TEST_CASE("a rule that is removed loses what was done for it") {
  Story story;
  story.host.add(17, 1);
  story.pass(seconds{20});
  story.raise(seconds{40});
  const std::vector<std::string> same{"Other", "RdmaRnrNakStorm"};
  story.executor->rules_loaded(same);
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 4);
  const std::vector<std::string> others{"Other"};
  story.executor->rules_loaded(others);
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last().find("its rule is no longer loaded") != std::string::npos);
}

TEST_CASE("a hook is told of the alert and its exit status is its verdict") {
  Story story;
  auto alert = story.alert({Story::hook({"/usr/local/sbin/mend", "--now"}), Story::step("advise", {{"about", "timeout"}})});
  alert.annotations = {{"summary", "a \"storm\""}};
  SECTION("zero") {
    story.processes.exit = {0, false, "mended\n", ""};
    story.fire(alert);
    story.pass(seconds{2});
    CHECK(story.last() == "succeeded /usr/local/sbin/mend: ended with exit status 0");
    CHECK(story.last_entry().figures.at("output") == "mended\\x0a");
    REQUIRE(story.processes.started.size() == 1);
    const auto& started = story.processes.started.front();
    CHECK(started.argv == Lines{"/usr/local/sbin/mend", "--now"});
    CHECK(started.deadline == seconds{10});
    CHECK(std::count(started.environment.begin(), started.environment.end(), "RDMEND_LABEL_DEVICE=rxe2") == 1);
    CHECK(std::count(started.environment.begin(), started.environment.end(), "RDMEND_VALUE=412") == 1);
    CHECK(started.standard_input.find(R"("annotations":{"summary":"a \"storm\""})") != std::string::npos);
    CHECK(started.standard_input.find(R"("state":"firing")") != std::string::npos);
  }
  SECTION("another") {
    story.processes.exit = {3, false, "", ""};
    story.fire(alert);
    story.pass(seconds{2});
    CHECK(story.last() == "failed /usr/local/sbin/mend: ended with exit status 3");
  }
  SECTION("too late") {
    story.processes.exit = {137, true, "", ""};
    story.fire(alert);
    story.pass(seconds{2});
    CHECK(story.last() == "failed /usr/local/sbin/mend: did not end within 10s and was killed");
  }
  SECTION("not there") {
    story.processes.exit = {-1, false, "", "No such file or directory"};
    story.fire(alert);
    story.pass(seconds{2});
    CHECK(story.last() == "failed /usr/local/sbin/mend: could not be started: No such file or directory");
  }
  for (const auto& one : story.executor->durations())
    if (one.kind == "run_hook") CHECK(one.count == 1);
  story.pass(seconds{40});
  CHECK(story.count("advise", Verdict::succeeded) == 1);  // the next step, since the alert still fires
  CHECK(story.processes.started.size() == 1);
}

TEST_CASE("escalation stops when the alert does") {
  Story story;
  story.processes.exit = {1, false, "", ""};
  const auto alert = story.alert({Story::hook({"/bin/first"}), Story::hook({"/bin/second"}), Story::hook({"/bin/third"})});
  story.fire(alert);
  story.pass(seconds{40});
  CHECK(story.processes.started.size() == 2);
  story.resolve(alert);
  story.pass(std::chrono::minutes{10});
  CHECK(story.processes.started.size() == 2);
}

TEST_CASE("counts begin at zero for every kind and verdict") {
  const Story story;
  CHECK(story.executor->counts().size() == remedies::kinds().size() * 8);
  for (const auto& row : remedies::kinds()) CHECK(story.count(std::string(row.kind), Verdict::undo_failed) == 0);
  CHECK(story.executor->durations().size() == remedies::kinds().size());
}
