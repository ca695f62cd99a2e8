// SPDX-License-Identifier: Apache-2.0
// The real rdmend-hand against real processes (tests/support/qp_owner.c) on two Soft-RoCE devices. Runs as
// root in the guest. What it reads and changes, and what it leaves alone.
#include <algorithm>

#include "e2e/hand_bench.hpp"
#include "support/command.hpp"
#include "support/until.hpp"

using namespace rdmend;
using namespace rdmend::test;

TEST_CASE("every QP of an unmodified process is read right, whichever thread made it") {
  HandBench bench;
  for (const std::string mode : {"main", "threads", "ended", "twice"}) {
    INFO(mode);
    QpOwner owner(mode, 40);
    for (const auto& made : owner.made) {
      const auto& device = made.first;
      auto request = bench.about(device, HandBench::all(owner, device));
      REQUIRE(request.qps.size() == 40);
      // The kernel tells the thread, and nothing once it has ended, which is a moment after its owner could join it.
      const auto pidless = [&] {
        request = bench.about(device, HandBench::all(owner, device));
        return std::count_if(request.qps.begin(), request.qps.end(), [](const auto& qp) { return qp.pid == 0; }) == (mode == "ended" ? 40 : 0);
      };
      CHECK(until(bench.loop, pidless));
      const auto others = std::count_if(request.qps.begin(), request.qps.end(), [&](const auto& qp) {
        return qp.pid != 0 && static_cast<pid_t>(qp.pid) != owner.pid();
      });
      CHECK(others == (mode == "threads" ? 40 : 0));
      const auto began = Steady::now();
      const auto reply = bench.must(request);
      figure("query of 40 QPs, " + mode + ": " +
             ms(static_cast<std::uint64_t>((Steady::now() - began).count())) + ", descriptor held " +
             ms(reply.held_nanoseconds) + " at most");
      CHECK(count_errors(reply).empty());
      REQUIRE(reply.qps.size() == 40);
      for (const auto& qp : reply.qps) {
        INFO(device << " qpn " << qp.qpn << " " << qp.error);
        CHECK(qp.tgid == static_cast<std::uint32_t>(owner.pid()));
        REQUIRE(qp.before);
        CHECK(qp.before->min_rnr_timer == made.second.at(qp.qpn));
        CHECK(qp.before->timeout == 14);
        CHECK(qp.before->retry_cnt == 7);
        CHECK(qp.before->rnr_retry == 7);
        CHECK(qp.before->state == 3);
        CHECK(qp.before->global);
        CHECK_FALSE(qp.after);
      }
    }
    CHECK(uverbs_held_by(bench.client.child()) == 0);
  }
}

TEST_CASE("min_rnr_timer is changed live, under traffic, of those that were meant and no others") {
  HandBench bench;
  for (const std::string mode : {"main", "threads", "ended"}) {
    INFO(mode);
    QpOwner owner(mode, 30);
    CHECK(owner.tell("start") == "started");
    const auto all = HandBench::all(owner, "rxe2");
    std::set<std::uint32_t> some;
    for (const auto qpn : all)
      if (qpn % 2 == 0) some.insert(qpn);
    const auto reply = bench.must(bench.change("rxe2", some, 20));
    const auto stopped = owner.tell("stop");
    figure("traffic while 15 QPs were changed, " + mode + ": " + stopped + " (messages, failed)");
    CHECK(stopped.ends_with(" 0"));
    CHECK(count_errors(reply).empty());
    for (const auto& qp : reply.qps) {
      REQUIRE(qp.before);
      REQUIRE(qp.after);
      CHECK(qp.before->min_rnr_timer == owner.made["rxe2"][qp.qpn]);
      CHECK(qp.after->min_rnr_timer == 20);
      CHECK(qp.after->state == 3);
    }
    // What the process reads by itself.
    auto expected = owner.made;
    for (const auto qpn : some) expected["rxe2"][qpn] = 20;
    CHECK(owner.timers() == expected);
  }
  figure("descriptor held, at most: " + ms(bench.held));
  CHECK(bench.held < 1'000'000'000);  // it is given back: how soon is a figure, for an emulated machine may
                                      // be taken off its processor in the midst
}

TEST_CASE("what has changed since it was looked at is not touched") {
  HandBench bench;
  QpOwner owner("main", 4);
  const auto qpn = owner.made["rxe1"].begin()->first;
  const auto good = bench.change("rxe1", {qpn}, 25);
  const auto text = std::to_string(qpn);
  auto request = good;
  auto& qp = request.qps[0];
  SECTION("the timer") {
    qp.expected->min_rnr_timer ^= 1;
    CHECK(bench.error_of(bench.must(request)) ==
          "QP " + text + " is no longer as it was expected to be: its peer, port or timer has changed");
  }
  SECTION("the remote GID") {
    qp.expected->remote_gid[15] ^= 1;
    CHECK(bench.error_of(bench.must(request)) ==
          "QP " + text + " is no longer as it was expected to be: its peer, port or timer has changed");
  }
  SECTION("the peer") {
    qp.remote_qpn ^= 1;
    CHECK(bench.error_of(bench.must(request)).ends_with("it is another connection"));
  }
  SECTION("the thread") {
    qp.pid = 1;
    CHECK(bench.error_of(bench.must(request)) ==
          "QP " + text + " is thread " + std::to_string(owner.pid()) + "'s now, not 1's: it is another QP");
  }
  SECTION("the number") {
    qp.qpn = 0xfffff0;
    CHECK(bench.error_of(bench.must(request)) == "QP 16777200 has gone");
  }
  SECTION("the device") {
    request.device = "rxe2";
    CHECK(bench.error_of(bench.must(request)) ==
          "device " + std::to_string(request.device_index) + " is rxe1 now, not rxe2");
    request.device_index = 999;
    CHECK(bench.error_of(bench.must(request)) == "device 999: RDMA netlink: Invalid argument");
  }
  CHECK(bench.must(bench.about("rxe1", {qpn})).qps[0].before->min_rnr_timer == owner.made["rxe1"][qpn]);
  CHECK(bench.error_of(bench.must(good)).empty());
  CHECK(bench.must(bench.about("rxe1", {qpn})).qps[0].before->min_rnr_timer == 25);
}

TEST_CASE("a QP that never left RTR is read, and not written since the kernel would refuse") {
  HandBench bench;
  QpOwner owner("rtr", 2);
  const auto qpn = owner.made["rxe1"].begin()->first;
  const auto seen = bench.must(bench.about("rxe1", {qpn}));
  CHECK(count_errors(seen).empty());
  CHECK(seen.qps[0].before->state == 2);
  CHECK(seen.qps[0].before->min_rnr_timer == owner.made["rxe1"][qpn]);
  CHECK(bench.error_of(bench.must(bench.change("rxe1", {qpn}, 20))) ==
        "QP " + std::to_string(qpn) + " is in RTR: the kernel lets the timer be changed in RTS only");
}

TEST_CASE("QPs that are alike in all that can be seen are treated alike, or not at all") {
  HandBench bench;
  QpOwner owner("alike", 3);
  const auto all = HandBench::all(owner, "rxe1");
  auto request = bench.change("rxe1", all, 22);
  for (const auto& qp : request.qps) REQUIRE(qp.expected);
  auto one = request;
  one.qps.resize(1);
  const auto refused = bench.error_of(bench.must(one));
  CHECK(refused.find("cannot be told from QP ") != std::string::npos);
  auto differ = request;
  differ.qps[1].new_min_rnr_timer = 23;
  CHECK(bench.error_of(bench.must(differ)) == "QP " + std::to_string(differ.qps[0].qpn) +
                                                  " cannot be told from others that is to get another timer");
  CHECK(owner.timers() == owner.made);
  CHECK(count_errors(bench.must(request)).empty());
  auto expected = owner.made;
  for (auto& [qpn, timer] : expected["rxe1"]) timer = 22;
  CHECK(owner.timers() == expected);
}

TEST_CASE("a device that was handed to another process is found there") {
  HandBench bench;
  QpOwner owner("main", 6);
  owner.say("handover");
  const auto line = owner.read_line();
  REQUIRE(line.starts_with("child "));
  owner.heir = std::stoi(line.substr(6));
  owner.reap();
  const auto request = bench.about("rxe1", HandBench::all(owner, "rxe1"));
  REQUIRE(request.qps.size() == 6);
  for (const auto& qp : request.qps) CHECK(qp.pid == 0);
  const auto reply = bench.must(request);
  CHECK(count_errors(reply).empty());
  for (const auto& qp : reply.qps) {
    CHECK(qp.tgid == static_cast<std::uint32_t>(owner.heir));
    CHECK(qp.before->min_rnr_timer == owner.made["rxe1"][qp.qpn]);
  }
}

TEST_CASE("a process whose main thread has ended cannot be reached, and that is said") {
  HandBench bench;
  QpOwner owner("leaderless", 2);
  const auto ended = [&] {
    return test::slurp("/proc/" + std::to_string(owner.pid()) + "/status").find("State:\tZ") !=
           std::string::npos;
  };
  REQUIRE(bench.loop.run_until(ended, 10s));
  const auto reply = bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1")));
  REQUIRE(reply.qps.size() == 2);
  for (const auto& qp : reply.qps)
    CHECK(qp.error ==
          "no process was found that has QP " + std::to_string(qp.qpn) + ": process " +
              std::to_string(owner.pid()) +
              " is a zombie, or its main thread has ended: the kernel gives no way to its descriptors");
}

TEST_CASE("many QPs take several batches, and none is long") {
  HandBench bench;
  QpOwner owner("main", 600);
  const auto all = HandBench::all(owner, "rxe2");
  auto began = Steady::now();
  auto reply = bench.must(bench.about("rxe2", all));
  figure("query of 600 QPs: " + ms(static_cast<std::uint64_t>((Steady::now() - began).count())) + ", held " +
         ms(reply.held_nanoseconds) + " at most");
  CHECK(count_errors(reply).empty());
  for (const auto& qp : reply.qps) CHECK(qp.before->min_rnr_timer == owner.made["rxe2"][qp.qpn]);
  began = Steady::now();
  reply = bench.must(bench.change("rxe2", all, 18));
  figure("query and change of 600 QPs: " + ms(static_cast<std::uint64_t>((Steady::now() - began).count())) +
         ", held " + ms(reply.held_nanoseconds) + " at most");
  CHECK(count_errors(reply).empty());
  CHECK(std::all_of(reply.qps.begin(), reply.qps.end(),
                    [](const auto& qp) { return qp.after && qp.after->min_rnr_timer == 18; }));
}
