// SPDX-License-Identifier: Apache-2.0
// Stories of an rdmend that ends while something is due.
#include <cerrno>
#include <filesystem>

#include "scenarios/story.hpp"
#include "unit/journal/system_calls.hpp"

using namespace rdmend;
using namespace rdmend::test;

namespace {

struct Restart : Story {
  Restart() {
    host.add(17, 1);
    pass(seconds{20});
  }
  // A raise whose alert ended four minutes ago: the action that is held.
  std::uint64_t hold() {
    resolve(raise(seconds{40}));
    pass(std::chrono::minutes{4});
    return action("held").id;
  }
  // Ends, stays away for `away`, comes back and looks at the QPs first.
  void restart(milliseconds away, std::vector<Alert> active = {}) {
    crash();
    for (milliseconds gone{0}; gone < away; gone += seconds{1}) {
      traffic();
      loop.advance(seconds{1});
    }
    open();
    host.dump();
    for (auto& one : active) one.state = AlertState::firing;
    executor->resume(active);
    finish_writes();
  }
};

}  // namespace

TEST_CASE("what is held is adopted with what is left of its hold") {
  Restart story;
  const auto id = story.hold();
  story.restart(std::chrono::minutes{3});
  CHECK(story.action("held").id == id);
  CHECK(story.action("held").description == "raise_min_rnr_timer factor 4, ceiling 10 ms");
  story.pass(std::chrono::minutes{2} + seconds{50});
  CHECK(story.host.qps[17].timer == 4);
  story.pass(seconds{12});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last_entry().action == id);
  story.restart(seconds{1});  // and it is not due a second time
  CHECK(story.executor->actions().empty());
}

TEST_CASE("what became due meanwhile is given back at once, in mode observe too") {
  Restart story;
  const auto alert = story.raise(seconds{40});
  story.resolve(alert);
  story.config.mode = config::Mode::observe;
  story.restart(std::chrono::minutes{11});
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("an alert that still fires keeps what was done for it, and is not mended twice") {
  Restart story;
  const auto alert = story.alert({Story::step(kRaise), Story::step("advise", {{"about", "receive_queue"}})});
  story.fire(alert);
  story.pass(seconds{33});
  story.restart(std::chrono::minutes{30}, {alert});
  story.pass(std::chrono::minutes{30});
  CHECK(story.host.qps[17].timer == 4);
  CHECK(story.count(kRaise, Verdict::started) == 0);  // of this life
  CHECK(story.count("advise", Verdict::succeeded) == 1);
  story.resolve(alert);
  story.pass(std::chrono::minutes{11});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("an alert that nobody knows of any more counts as ended from the start on") {
  Restart story;
  story.raise(seconds{40});
  story.restart(std::chrono::minutes{30});
  story.pass(std::chrono::minutes{9});
  CHECK(story.host.qps[17].timer == 4);
  story.pass(std::chrono::minutes{2});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("what was not verified yet is given back") {
  Restart story;
  story.raise(seconds{10});
  REQUIRE(story.host.qps[17].timer == 4);
  story.restart(seconds{5});
  story.pass(seconds{1});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last().find("rdmend ended before it was verified: min_rnr_timer of 1 QP given back") != std::string::npos);
}

TEST_CASE("it ends between writing down and acting: nothing was changed, and that is found") {
  Restart story;
  auto alert = story.alert({Story::step(kRaise)});
  alert.state = AlertState::firing;
  const Decision decision{story.loop.now().wall, AlertState::inactive, alert};
  story.executor->on_decisions({&decision, 1}, story.loop.now());
  for (int i = 0; i < 2; ++i) {
    story.traffic();
    story.loop.advance(seconds{1});
  }
  REQUIRE(story.action("checking").id != 0);  // its record is on its way to the disk, the hand has not been asked to modify
  REQUIRE(story.host.qps[17].timer == 1);
  story.restart(seconds{1});
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last().find("rdmend ended before it was verified: 1 had been changed by others and stay as they are") != std::string::npos);
}

TEST_CASE("a process that ended while rdmend was away needs nothing back") {
  Restart story;
  const auto alert = story.raise(seconds{40});
  story.resolve(alert);
  story.host.qps.clear();
  story.restart(std::chrono::minutes{11});
  story.pass(seconds{2});
  CHECK(story.last().find("1 had gone") != std::string::npos);
}

TEST_CASE("hold-downs are remembered") {
  Restart story;
  story.config.remedies.hold_down = std::chrono::hours{1};
  story.open();
  story.mends = false;
  const auto alert = story.raise(seconds{40});
  story.restart(seconds{5});
  story.fire(alert);
  story.pass(seconds{5});
  CHECK(story.last().find("was acted on lately and is left alone until") != std::string::npos);
}

TEST_CASE("hold-downs go on doubling") {
  Restart story;
  story.config.remedies.qp = {100, seconds{1}};
  story.config.remedies.hold_down = std::chrono::minutes{2};
  story.open();
  story.mends = false;  // so that each attempt is taken back
  const auto alert = story.alert({Story::step(kRaise)});
  REQUIRE(story.attempts(alert) == 1);
  story.restart(std::chrono::minutes{2});
  REQUIRE(story.attempts(alert) == 1);
  story.restart(std::chrono::minutes{2});
  CHECK(story.attempts(alert) == 0);  // 4 minutes now
  CHECK(story.last().find("was acted on lately and is left alone until") != std::string::npos);
  story.restart(std::chrono::minutes{2});
  CHECK(story.attempts(alert) == 1);
}

TEST_CASE("what was spent of the budgets is remembered, and comes back while rdmend is away") {
  Restart story;
  story.config.remedies.hold_down = seconds{1};
  story.config.remedies.qp = {100, seconds{1}};
  story.config.remedies.host = {2, std::chrono::minutes{10}};
  story.open();
  story.mends = false;
  const auto alert = story.alert({Story::step(kRaise)});
  REQUIRE(story.attempts(alert) == 1);
  story.restart(seconds{5});
  REQUIRE(story.attempts(alert) == 1);
  story.restart(seconds{5});
  CHECK(story.attempts(alert) == 0);
  CHECK(story.last().find("the budget of the host is spent (2 at once, one more each 10m)") != std::string::npos);
  story.restart(std::chrono::minutes{9});
  CHECK(story.attempts(alert) == 1);
}

TEST_CASE("what was acted on just before a restart counts for the breaker, which stays open after the next one") {
  Restart story;  // with QP 17
  story.config.remedies.breaker_least = 4;
  story.config.remedies.breaker_window = std::chrono::minutes{5};
  story.open();
  for (std::uint32_t qpn = 18; qpn <= 20; ++qpn) story.host.add(qpn, 1).receives = false;
  story.pass(seconds{20});
  const auto first = story.alert({Story::step(kRaise)});
  story.fire(first);
  story.pass(seconds{5});
  REQUIRE(story.host.qps[17].timer == 4);
  for (std::uint32_t qpn = 18; qpn <= 20; ++qpn) story.host.qps[qpn].receives = true;
  story.restart(seconds{20});
  auto second = first;
  second.rule = "Another";
  story.fire(second);
  story.pass(seconds{5});
  CHECK(story.executor->breaker_text() == "open: 4 of the host's 4 RC QPs would be acted on within 5m, more than 50 %");
  CHECK(story.host.qps[18].timer == 1);
  story.restart(std::chrono::hours{1});
  CHECK(story.executor->breaker_open());
  story.executor->reset_breaker(story.loop.now());
  story.restart(seconds{1});
  CHECK_FALSE(story.executor->breaker_open());
}

TEST_CASE("what a refused step did not do is not held against its targets") {
  Restart story;
  const auto alert = story.alert({Story::step(kRaise)});
  auto fires = alert;
  fires.state = AlertState::firing;
  const Decision decision{story.loop.now().wall, AlertState::inactive, fires};
  story.executor->on_decisions({&decision, 1}, story.loop.now());
  for (int i = 0; i < 2; ++i) {
    story.traffic();
    story.loop.advance(seconds{1});
  }
  REQUIRE(story.action("checking").id != 0);
  story.executor->set_mode(config::Mode::observe, std::nullopt, story.loop.now());
  story.finish_writes();
  REQUIRE(story.last().find("the mode became observe before anything was done") != std::string::npos);
  story.executor->set_mode(config::Mode::act, std::nullopt, story.loop.now());
  story.restart(seconds{1}, {alert});
  story.pass(seconds{5});
  CHECK(story.host.qps[17].timer == 4);
}

TEST_CASE("an action that a former rdmend left and a new one have not the same id") {
  Restart story;
  const auto first = story.alert({Story::step(kRaise)});
  story.fire(first);
  story.pass(seconds{40});
  const auto left = story.action("held").id;
  story.restart(seconds{1});
  auto second = first;
  second.rule = "Another";
  second.remedy = std::make_shared<const std::vector<RemedySpec>>(std::vector{Story::step("advise", {{"about", "receive_queue"}})});
  story.fire(second);
  story.pass(seconds{1});
  CHECK(story.last_entry().rule == "Another");
  CHECK(story.last_entry().action > left);
  CHECK(story.action("held").id == left);
}

TEST_CASE("nothing is changed when its undo cannot be written down") {
  Restart story;
  fail_calls(ENOSPC);
  story.raise(seconds{5});
  fail_calls(0);
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last().rfind("refused rxe2/1 qpn 17 (ib_send_bw, pid 812): its undo cannot be written down, so it is not done:"
                           " decisions and undos are not written: ", 0) == 0);
}

TEST_CASE("nothing is changed while what a former rdmend left cannot be read, and what was due is done once it can") {
  Restart story;
  const auto left = story.hold();
  story.crash();
  const auto file = story.directory.file("rdmend.db");
  std::filesystem::rename(file, file + ".away");
  std::filesystem::create_directory(file);
  story.open();
  story.host.add(18, 1);
  story.pass(seconds{2});
  const auto again = story.raise(seconds{5});
  CHECK(story.last().find("what was decided before rdmend started is not known, so it is not done: decisions and undos are kept in memory only: ") != std::string::npos);
  story.resolve(again);
  CHECK(story.host.qps[18].timer == 1);

  std::filesystem::remove(file);
  std::filesystem::rename(file + ".away", file);
  story.pass(seconds{11});
  REQUIRE(story.loop.run_until([&] { return !story.journal->unread(); }));
  story.host.dump();
  story.executor->resume();
  story.finish_writes();
  CHECK(story.action("held").id == left);
  story.pass(std::chrono::minutes{11});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("a document that is not one, or only in part, stops nothing") {
  Restart story;
  const char* text = GENERATE("", "{", "[]", "null", R"({"version":2,"actions":[]})", R"({"version":1,"actions":{}})", R"({"version":1,"actions":[{},7,null]})",
                              R"({"version":1,"actions":[{"action":5,"rule":"R","group":"g","alert":{},"value":null,"step":{"kind":"raise_min_rnr_timer","params":[]},
                                 "target":"t","record":"{}","verified":true,"began":0,"inactive_since":0,"hold":0}]})");
  story.journal->put("undo", text);
  story.journal->put("mode", text);
  story.journal->put("hold_downs", text);
  story.crash();
  story.open();
  story.executor->resume();
  story.raise(seconds{5});
  CHECK(story.host.qps[17].timer == 4);
}
