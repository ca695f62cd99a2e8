// SPDX-License-Identifier: Apache-2.0
// Stories of an RNR storm: raised, verified, held, given back.
#include "scenarios/story.hpp"

using namespace rdmend;
using namespace rdmend::test;

TEST_CASE("a storm is mended, the timer held while it lasts and given back after it") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{5});
  REQUIRE(story.lines() == Lines{"started " + kQp17 + ": min_rnr_timer code 1 (0.01 ms) -> code 4 (0.04 ms)"});
  CHECK(story.host.qps[17].timer == 4);
  CHECK(story.last_entry().figures.at("before") == "code 1 (0.01 ms)");
  CHECK(story.last_entry().figures.at("after") == "code 4 (0.04 ms)");
  CHECK(story.last_entry().rule == "RdmaRnrNakStorm");
  CHECK(story.last_entry().value == 412);
  CHECK(story.action("settling").undoable);

  story.pass(seconds{30});
  CHECK(story.last() == "succeeded " + kQp17 +
                            ": RNR NAKs per received packet fell from 0.286 to 0.0909; packets received went from 1400/s to 1100/s, but the packets"
                            " that the QPs accepted from 1000/s to 1000/s: what fell was sent twice before");
  CHECK(story.last_entry().figures.at("rnr_naks_before") == "400/s");
  CHECK(story.last_entry().figures.at("rnr_naks_after") == "100/s");
  CHECK(story.action("held").verdict == Verdict::succeeded);

  story.pass(std::chrono::minutes{30});  // the storm goes on: nothing more is done, nothing is taken back
  CHECK(story.lines().size() == 2);
  story.storm = false;
  story.resolve(alert);
  story.pass(std::chrono::minutes{10} - seconds{1});
  CHECK(story.host.qps[17].timer == 4);
  story.pass(seconds{2});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last() == "undone " + kQp17 +
                            ": the alert has been inactive for 10m: min_rnr_timer of 1 QP given back, code 4 (0.04 ms) -> code 1 (0.01 ms)");
  CHECK(story.count("raise_min_rnr_timer", Verdict::started) == 1);
  CHECK(story.count("raise_min_rnr_timer", Verdict::succeeded) == 1);
  CHECK(story.count("raise_min_rnr_timer", Verdict::undone) == 1);
  CHECK(story.count("raise_min_rnr_timer", Verdict::failed) == 0);
}

TEST_CASE("an alert that fires again within hold after the undo is mended again, and held twice as long") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  const auto mend_and_resolve = [&] {
    story.fire(alert);
    story.pass(seconds{40});
    REQUIRE(story.host.qps[17].timer == 4);
    story.resolve(alert);
  };
  mend_and_resolve();
  story.pass(std::chrono::minutes{10} + seconds{2});
  REQUIRE(story.host.qps[17].timer == 1);
  story.pass(std::chrono::minutes{5});
  mend_and_resolve();
  story.pass(std::chrono::minutes{19});
  CHECK(story.host.qps[17].timer == 4);
  story.pass(std::chrono::minutes{1} + seconds{2});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.last().find("the alert has been inactive for 20m") != std::string::npos);
  story.pass(std::chrono::minutes{30});  // quiet for longer than that: the next one begins anew
  mend_and_resolve();
  story.pass(std::chrono::minutes{10} + seconds{2});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("an alert that fires again while the timer is held changes nothing") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{40});
  story.resolve(alert);
  story.pass(std::chrono::minutes{9});
  story.fire(alert);
  story.pass(std::chrono::minutes{20});
  CHECK(story.host.qps[17].timer == 4);
  CHECK(story.lines().size() == 2);
  story.resolve(alert);
  story.pass(std::chrono::minutes{10} + seconds{2});
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("what does not help is taken back, and the next step runs") {
  Story story;
  story.mends = false;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer"), Story::step("advise", {{"about", "receive_queue"}})});
  story.pass(seconds{70});
  story.fire(alert);
  story.pass(seconds{40});
  const auto lines = story.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "ineffective " + kQp17 + ": RNR NAKs per received packet did not fall: from 0.286 to 0.286");
  CHECK(lines[2] == "undone " + kQp17 + ": it did not help: min_rnr_timer of 1 QP given back, code 4 (0.04 ms) -> code 1 (0.01 ms)");
  CHECK(lines[3].rfind("succeeded rxe2/1: The responder rxe2/1 sent 400 RNR NAKs/s for 1400 packets/s received", 0) == 0);
  CHECK(story.host.qps[17].timer == 1);
  story.pass(std::chrono::hours{1});  // ran once: not again while the alert goes on
  CHECK(story.lines().size() == 4);
}

TEST_CASE("a mend that costs goodput is taken back") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{4});
  REQUIRE(story.host.qps[17].timer == 4);
  story.packets = 800;
  story.pass(seconds{40});
  CHECK(story.lines().at(1).find("a fall of more than 10 %") != std::string::npos);
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("a burst in the two seconds before the change does not make a good mend look bad") {
  Story story;
  story.host.add(17, 1);
  auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  alert.active_at = story.loop.now().wall;
  story.decide(alert, AlertState::pending);  // a look at how far the QPs have received
  story.pass(seconds{8});
  story.fire(alert);
  story.packets = 1300;  // while the QPs are chosen
  story.pass(seconds{2});
  story.packets = 1000;
  story.pass(seconds{40});
  CHECK(story.lines().at(1).rfind("succeeded ", 0) == 0);
  CHECK(story.lines().at(1).find("accepted from 1060/s to 1000/s") != std::string::npos);
  CHECK(story.host.qps[17].timer == 4);
}

TEST_CASE("an alert that comes and goes, or a remedy that is not allowed, makes no list of QPs each time") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  const auto flap = [&] {
    for (int i = 0; i < 12; ++i) {
      story.decide(alert, i % 2 == 0 ? AlertState::pending : AlertState::inactive);
      story.pass(seconds{1});
    }
  };
  story.pass(seconds{20});
  const auto before = story.host.dumps;
  flap();
  CHECK(story.host.dumps - before == 3);  // 12 s, 4 s apart
  story.config.remedies.allow = {"advise"};
  story.executor->reconfigure(story.config);
  flap();
  CHECK(story.host.dumps - before == 3);
}

TEST_CASE("where a PSN may have gone round since the change, two later dumps tell") {
  Story story;
  story.packets = 1'000'000;  // 30 s of it are more than 24 bit hold
  story.resent_per_nak = 1000;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{40});
  CHECK(story.lines().at(1).rfind("succeeded ", 0) == 0);
  CHECK(story.lines().at(1).find("accepted from 1e+06/s to 1e+06/s") != std::string::npos);
}

TEST_CASE("without evidence nothing counts as mended") {
  Story story;
  story.host.add(17, 1);
  story.silent = true;
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.fire(alert);
  story.pass(seconds{40});
  CHECK(story.lines().at(1) == "ineffective " + kQp17 + ": not verified: RNR NAKs or packets before it are not known");
  CHECK(story.host.qps[17].timer == 1);
}

TEST_CASE("only receiving RC QPs of processes on the alert's port are raised, and those at the ceiling are not") {
  Story story;
  story.host.add(17, 1);
  story.host.add(18, 19);                    // 7.68 ms: the longest code within 10 ms
  story.host.add(19, 0);                     // 655.36 ms, though its number is the lowest
  story.host.add(20, 1).receives = false;
  story.host.add(21, 1).info.state = static_cast<std::uint8_t>(QpState::rtr);
  story.host.add(22, 1).info.state = static_cast<std::uint8_t>(QpState::err);
  story.host.add(23, 1).info.type = static_cast<std::uint8_t>(QpType::ud);
  story.host.add(24, 1).info.port = 2;
  story.host.add(25, 1).info.kernel_owner = "nvme_rdma";
  story.host.add(26, 1).info.rq_psn.reset();
  story.host.add(27, 18);                    // 5.12 ms x 4 is more than the ceiling: 7.68 ms
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{4});
  std::map<std::uint32_t, int> timers;
  for (const auto& [qpn, qp] : story.host.qps) timers[qpn] = qp.timer;
  CHECK(timers == std::map<std::uint32_t, int>{{17, 4}, {18, 19}, {19, 0}, {20, 1}, {21, 4}, {22, 1}, {23, 1}, {24, 1}, {25, 1}, {26, 1}, {27, 19}});
  CHECK(story.last_entry().figures.at("at_the_ceiling") == "2");
  CHECK(story.last_entry().figures.at("receiving") == "5");
}

TEST_CASE("a restored value is one that is still ours") {
  Story story;
  story.host.add(17, 1);
  story.host.add(18, 1);
  story.host.add(19, 1);
  story.host.add(20, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{40});
  story.host.qps[18].timer = 10;                // its owner wanted something else
  story.host.qps.erase(19);                     // gone
  story.host.qps[20].info.remote_qpn = 7777;    // the number is another connection's now
  story.resolve(alert);
  story.pass(std::chrono::minutes{11});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.host.qps[18].timer == 10);
  CHECK(story.host.qps[20].timer == 4);
  CHECK(story.last() == "undone " + kQp17 +
                            " and 3 more: the alert has been inactive for 10m: min_rnr_timer of 1 QP given back, code 4 (0.04 ms) -> code 1"
                            " (0.01 ms); 2 had gone; 1 had been changed by others and stay as they are");
}

TEST_CASE("an undo that fails is told once and tried until it is done") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{40});
  story.resolve(alert);
  story.host.why_unavailable = "the hand died and is being started again";
  story.pass(std::chrono::minutes{13});
  CHECK(story.count("raise_min_rnr_timer", Verdict::undo_failed) == 1);
  CHECK(story.last() == "undo_failed " + kQp17 + ": 1 could not be given back: the hand died and is being started again");
  CHECK(story.action("undoing").undoable);
  story.host.why_unavailable.clear();
  story.pass(std::chrono::minutes{10});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.count("raise_min_rnr_timer", Verdict::undone) == 1);
}

TEST_CASE("a device that has gone took its QPs with it") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{40});
  story.resolve(alert);
  story.host.device_gone = true;
  story.pass(std::chrono::minutes{11});
  CHECK(story.last() == "undone " + kQp17 + ": the alert has been inactive for 10m: 1 had gone");
}

TEST_CASE("a hand that dies after the change leaves nothing changed behind") {
  Story story;
  story.host.add(17, 1);
  story.host.dies_after_modify = true;
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{4});
  CHECK(story.lines().at(0) == "failed " + kQp17 + ": the hand ended");
  story.host.dies_after_modify = false;
  story.pass(seconds{30});
  CHECK(story.host.qps[17].timer == 1);
  CHECK(story.count("raise_min_rnr_timer", Verdict::undone) == 1);
}

TEST_CASE("QPs that refuse the change are told, the others are mended") {
  Story story;
  story.host.add(17, 1);
  story.host.add(18, 1);
  story.host.refuses[18] = "Device or resource busy";
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.pass(seconds{4});
  CHECK(story.lines() == Lines{"started " + kQp17 + ": min_rnr_timer code 1 (0.01 ms) -> code 4 (0.04 ms)",
                               "failed rxe2/1 qpn 18 (ib_send_bw, pid 812): Device or resource busy"});
  story.host.refuses.clear();
  story.pass(seconds{40});
  story.resolve(alert);
  const auto before = story.host.requests.size();
  story.pass(std::chrono::minutes{11});
  for (auto i = before; i < story.host.requests.size(); ++i) CHECK(story.host.requests[i].qps.size() == 1);  // 18 was never ours
}

TEST_CASE("an alert that ends while its remedy is still looking changes nothing") {
  Story story;
  story.host.add(17, 1);
  const auto alert = story.alert({Story::step("raise_min_rnr_timer")});
  story.pass(seconds{20});
  story.fire(alert);
  story.resolve(alert);
  story.pass(seconds{60});
  CHECK(story.lines() == Lines{"refused rxe2/1: the alert ended before anything was done"});
  CHECK(story.host.qps[17].timer == 1);
}
