// SPDX-License-Identifier: Apache-2.0
// Stories of a unit that is restarted for an alert, or is not.
#include "scenarios/story.hpp"

using namespace rdmend;
using namespace rdmend::test;

namespace {

const std::string kRestart = "restart_unit";

Alert of_opensm(const Story& story) {
  return story.alert({Story::step(kRestart, {{"unit", "opensm.service"}, {"deadline", "20s"}}), Story::step("advise", {{"about", "timeout"}})});
}

}  // namespace

TEST_CASE("a unit that failed is restarted once, and verified after its settle time") {
  Story story;
  const auto alert = of_opensm(story);
  story.fire(alert);
  story.pass(seconds{29});
  CHECK(story.units.restarted == Lines{"opensm.service 20000"});
  CHECK(story.lines() == Lines{"started opensm.service: restarted: was failed (failed), is active (running)"});
  SECTION("it stays up") {
    story.pass(seconds{5});
    CHECK(story.lines().at(1) == "succeeded opensm.service: opensm.service is active (running) since its restart");
  }
  SECTION("it ends again") {
    story.units.state.active_state = "activating";
    story.units.state.sub_state = "auto-restart";
    story.pass(seconds{5});
    CHECK(story.lines().at(1) == "ineffective opensm.service: opensm.service is activating (auto-restart) after its restart");
  }
  SECTION("it ends again, and is up at that moment") {
    story.units.state.invocation = "another";
    story.pass(seconds{5});
    CHECK(story.lines().at(1) == "ineffective opensm.service: opensm.service is active (running), but was started once more since its restart");
  }
  SECTION("the manager falls silent") {
    story.units.why_silent = "the system bus does not answer: Connection timed out";
    story.pass(seconds{5});
    CHECK(story.lines().at(1) == "failed opensm.service: the system bus does not answer: Connection timed out");
  }
  story.pass(std::chrono::hours{1});
  CHECK(story.units.restarted.size() == 1);  // not again while it fires
  CHECK(story.lines().size() == 3);          // the next step of the ladder ran
  story.resolve(alert);
  story.pass(std::chrono::hours{1});
  CHECK(story.lines().size() == 3);  // nothing to give back
}

TEST_CASE("an alert that comes and goes restarts a unit ever more seldom") {
  Story story;
  const auto alert = story.alert({Story::step(kRestart, {{"unit", "opensm.service"}})});
  for (int minute = 0; minute < 60; ++minute) {
    story.fire(alert);
    story.pass(seconds{40});
    story.resolve(alert);
    story.pass(seconds{20});
  }
  CHECK(story.units.restarted.size() >= 2);
  CHECK(story.units.restarted.size() <= 6);  // 1, 2, 4, 8, 16 and 32 minutes apart at the soonest
  CHECK(story.count(kRestart, Verdict::refused) > 0);
}

TEST_CASE("two ports with the same alert restart their unit once") {
  Story story;
  auto first = story.alert({Story::step(kRestart, {{"unit", "opensm.service"}})});
  auto second = first;
  second.labels = {{"alertname", "RdmaRnrNakStorm"}, {"device", "rxe2"}, {"port", "2"}};
  story.fire(first);
  story.fire(second);
  story.pass(seconds{20});
  CHECK(story.units.restarted.size() == 1);
}

TEST_CASE("mode observe looks at the unit and asks for no right") {
  Story story;
  story.config.mode = config::Mode::observe;
  story.open();
  story.units.forbidden = "restarting opensm.service is not permitted";
  story.fire(story.alert({Story::step(kRestart, {{"unit", "opensm.service"}})}));
  story.pass(std::chrono::minutes{10});
  CHECK(story.lines() == Lines{"dry_run opensm.service: mode observe: would be done: restart it, which is failed (failed) now"});
  CHECK(story.units.asked == 0);
  CHECK(story.units.restarted.empty());
}

TEST_CASE("what forbids a restart is told once, and the restart done when it is gone") {
  Story story;
  auto& unit = story.units.state;
  std::string why;
  SECTION("there is none") {
    unit.load_state = "not-found";
    why = "there is no unit opensm.service";
  }
  SECTION("masked") {
    unit.load_state = "masked";
    why = "opensm.service is masked";
  }
  SECTION("broken") {
    unit.load_state = "bad-setting";
    why = "opensm.service could not be loaded by systemd: bad-setting";
  }
  SECTION("it carries rdmend") {
    unit.takes_rdmend_along = true;
    why = "restarting opensm.service would stop rdmend's own unit with it";
  }
  SECTION("not by hand") {
    unit.by_hand = false;
    why = "opensm.service may not be stopped or started by hand (RefuseManualStop, RefuseManualStart)";
  }
  SECTION("the administrator stopped it") {
    unit.active_state = "inactive";
    why = "opensm.service is inactive: a unit that was stopped is not started";
  }
  SECTION("not permitted") {
    why = story.units.forbidden = "restarting opensm.service is not permitted: Interactive authentication required.";
  }
  SECTION("no systemd") { why = story.units.why_silent = "the system bus cannot be reached: No such file or directory"; }
  story.fire(story.alert({Story::step(kRestart, {{"unit", "opensm.service"}})}));
  story.pass(seconds{200});
  CHECK(story.lines() == Lines{"refused rxe2/1: " + why});
  CHECK(story.units.restarted.empty());
  unit = {"opensm.service", "loaded", "failed", "failed", "start 0"};
  story.units.forbidden.clear();
  story.units.why_silent.clear();
  story.pass(std::chrono::minutes{10});
  CHECK(story.units.restarted.size() == 1);
}

TEST_CASE("a unit that the configuration does not list is left alone, until a reload lists it") {
  Story story;
  story.config.remedies.units = {"opensm.servic", "sm.service"};  // an alias is not its name
  story.open();
  story.fire(story.alert({Story::step(kRestart, {{"unit", "sm.service"}})}));
  story.pass(seconds{200});
  CHECK(story.lines() == Lines{"refused rxe2/1: remedies.units does not list opensm.service"});
  CHECK(story.units.asked == 0);
  story.config.remedies.units = {"opensm.service"};
  story.executor->reconfigure(story.config);
  story.pass(std::chrono::minutes{10});
  CHECK(story.units.restarted == Lines{"opensm.service 30000"});
}

TEST_CASE("a restart that fails is a failure, and the next step comes") {
  Story story;
  story.units.fails = "the restart of opensm.service has ended with 'failed'";
  story.fire(of_opensm(story));
  story.pass(std::chrono::minutes{2});
  CHECK(story.lines().at(0) == "failed opensm.service: the restart of opensm.service has ended with 'failed'");
  CHECK(story.lines().size() == 2);
}

TEST_CASE("a unit known by two names has one hold-down") {
  Story story;
  story.fire(story.alert({Story::step(kRestart, {{"unit", "sm.service"}})}));  // an alias of opensm.service
  story.pass(seconds{10});
  CHECK(story.units.looked.at(0) == "sm.service");
  CHECK(story.units.restarted == Lines{"opensm.service 30000"});
  auto other = story.alert({Story::step(kRestart, {{"unit", "opensm.service"}})});
  other.labels = {{"alertname", "RdmaRnrNakStorm"}, {"device", "rxe2"}, {"port", "2"}};
  story.fire(other);
  story.pass(seconds{10});
  CHECK(story.units.restarted.size() == 1);
}
