// SPDX-License-Identifier: Apache-2.0
// What the hand may, and how it ends. The cases stand in an order: the last ones forbid it its work for good
// and take the devices away.

#include <algorithm>

#include "e2e/hand_bench.hpp"
#include "support/command.hpp"

using namespace rdmend;
using namespace rdmend::test;

TEST_CASE("CAP_SYS_PTRACE alone is enough, for a user who is nobody; without it the reason is given") {
  QpOwner owner("main", 4);  // root's
  const auto as_nobody = std::string("exec /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups ");
  SECTION("with") {
    const Script script(as_nobody +
                        "--bounding-set=-all,+sys_ptrace --inh-caps=-all,+sys_ptrace "
                        "--ambient-caps=-all,+sys_ptrace " RDMEND_HAND);
    HandBench bench(script.path);
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
    CHECK(
        bench.error_of(bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1"), Kind::probe))).empty());
    const auto reply = bench.must(bench.change("rxe1", HandBench::all(owner, "rxe1"), 24));
    CHECK(count_errors(reply).empty());
    for (const auto& qp : reply.qps) CHECK(qp.after->min_rnr_timer == 24);
    auto expected = owner.made;
    for (auto& [qpn, timer] : expected["rxe1"]) timer = 24;
    CHECK(owner.timers() == expected);
    // What it can do, as the kernel has it.
    const auto status = test::slurp("/proc/" + std::to_string(bench.client.child()) + "/status");
    CHECK(status.find("CapEff:\t0000000000080000\n") != std::string::npos);
    CHECK(status.find("CapBnd:\t0000000000080000\n") != std::string::npos);
    CHECK(status.find("CapAmb:\t0000000000000000\n") != std::string::npos);
    CHECK(status.find("NoNewPrivs:\t1\n") != std::string::npos);
    CHECK(status.find("Seccomp:\t2\n") != std::string::npos);
  }
  SECTION("without") {
    const Script script(as_nobody + "--bounding-set=-all --inh-caps=-all " RDMEND_HAND);
    HandBench bench(script.path);
    const auto why = "rdmend-hand lacks CAP_SYS_PTRACE, without which it reaches no other user's process";
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error == why);
    CHECK(bench.error_of(bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1")))) == why);
  }
  SECTION("in a user namespace") {
    const Script script("exec /usr/bin/unshare --user --map-root-user " RDMEND_HAND);
    HandBench bench(script.path);
    CHECK(bench.error_of(bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1")))) ==
          "the kernel refuses the descriptors of process " + std::to_string(owner.pid()) +
              ", though rdmend-hand holds CAP_SYS_PTRACE: rdmend-hand runs in a user namespace that does not "
              "own that process");
  }
  SECTION("as root, all but two are given up") {
    HandBench bench;
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
    const auto status = test::slurp("/proc/" + std::to_string(bench.client.child()) + "/status");
    CHECK(status.find("CapPrm:\t0000000000081000\n") != std::string::npos);
    CHECK(status.find("CapEff:\t0000000000081000\n") != std::string::npos);
    CHECK(status.find("CapBnd:\t0000000000081000\n") != std::string::npos);
  }
}

// hand-systemd.sh runs this one.
TEST_CASE("the hand that systemd starts for the socket is a plain user's, and reaches root's process",
          "[.systemd]") {
  HandBench bench("/run/rdmend-hand.sock");
  QpOwner owner("main", 4);
  CHECK(bench.client.child() == 0);
  CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
  const auto reply = bench.must(bench.change("rxe1", HandBench::all(owner, "rxe1"), 26));
  CHECK(count_errors(reply).empty());
  auto expected = owner.made;
  for (auto& [qpn, timer] : expected["rxe1"]) timer = 26;
  CHECK(owner.timers() == expected);
  const auto hands = test::run_command("pgrep -x -u rdmend rdmend-hand");
  REQUIRE(hands.status == 0);
  const auto pid = hands.output.substr(0, hands.output.find('\n'));
  CHECK(test::slurp("/proc/" + pid + "/status").find("CapEff:\t0000000000080000\n") != std::string::npos);
  // Another one takes the place of one that was killed.
  REQUIRE(kill(std::stoi(pid), SIGKILL) == 0);
  REQUIRE(bench.loop.run_until([&] { return !bench.client.unavailable().empty(); }, 10s));
  REQUIRE(bench.back());
  CHECK(count_errors(bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1")))).empty());
}

TEST_CASE("the hand ends when its socket closes") {
  pid_t child = 0;
  {
    HandBench bench;
    bench.must(bench.about("rxe1", {}, Kind::probe));
    child = bench.client.child();
    REQUIRE(kill(child, 0) == 0);
  }
  siginfo_t info{};
  CHECK(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) == 0);
}

TEST_CASE("kernel.yama.ptrace_scope 3 forbids all, and is named") {
  HandBench bench;
  QpOwner owner("main", 2);
  std::ofstream("/proc/sys/kernel/yama/ptrace_scope") << "3";
  if (test::slurp("/proc/sys/kernel/yama/ptrace_scope") != "3\n") {
    WARN("this kernel has no Yama");
    return;
  }
  const auto why = "kernel.yama.ptrace_scope is 3: until the next boot no process may reach into another";
  CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error == why);
  CHECK(bench.error_of(bench.must(bench.about("rxe1", HandBench::all(owner, "rxe1")))) == why);
}

TEST_CASE("after all of it the devices can be taken away at once") {
  HandBench bench;
  REQUIRE(bench.back());
  const auto began = Steady::now();
  for (const std::string device : {"rxe1", "rxe2"})
    CHECK(test::run_command("timeout 10 rdma link delete " + device + " 2>&1").status == 0);
  const auto took = Steady::now() - began;
  figure("both devices deleted in " + ms(static_cast<std::uint64_t>(took.count())));
  CHECK(took < 5s);
  wire::HandRequest request;
  request.kind = Kind::query;
  request.device = "rxe1";
  request.device_index = bench.devices.at("rxe1").index;
  CHECK(bench.must(request).error.starts_with("device "));
}
