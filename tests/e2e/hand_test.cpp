// SPDX-License-Identifier: Apache-2.0
// The real rdmend-hand against real processes (tests/support/qp_owner.c) on two Soft-RoCE devices. Runs as root in the guest. The cases
// stand in an order: the last ones forbid the hand its work for good and take a device away.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "rdma_netlink.hpp"
#include "rdmend/hand_client.hpp"
#include "rdmend/loop.hpp"
#include "support/command.hpp"
#include "verbs/uverbs_ioctl.hpp"

using namespace rdmend;
using namespace std::chrono_literals;
using Kind = wire::HandRequest::Kind;
using Steady = std::chrono::steady_clock;

namespace {

constexpr auto kBound = 30s;

// An ordinary verbs process, spoken to line by line.
class QpOwner {
 public:
  QpOwner(const std::string& mode, int count) {
    int in[2], out[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl(QP_OWNER, QP_OWNER, mode.c_str(), std::to_string(count).c_str(), nullptr);
      _exit(127);
    }
    to_.reset(in[1]);
    from_.reset(out[0]);
    close(in[0]);
    close(out[1]);
    for (auto line = read_line(); line != "ready"; line = read_line()) {
      std::istringstream words(line);
      std::string qp, device;
      std::uint32_t qpn = 0;
      int timer = 0;
      words >> qp >> device >> qpn >> timer;
      REQUIRE(qp == "qp");
      made[device][qpn] = timer;
    }
  }
  ~QpOwner() {
    end();
    if (heir > 0) kill(heir, SIGKILL);
  }
  QpOwner(const QpOwner&) = delete;
  QpOwner& operator=(const QpOwner&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    reap();
  }
  void reap() {
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void say(const std::string& line) const { REQUIRE(write(to_.get(), (line + "\n").data(), line.size() + 1) > 0); }
  std::string tell(const std::string& line) {
    say(line);
    return read_line();
  }
  std::string read_line(seconds bound = 120s) {
    const auto end = Steady::now() + bound;
    while (pending_.find('\n') == std::string::npos) {
      pollfd ready{from_.get(), POLLIN, 0};
      const auto left = std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(end - Steady::now()).count());
      if (poll(&ready, 1, static_cast<int>(left)) <= 0) return "(silence)";
      char buffer[4096];
      const auto got = read(from_.get(), buffer, sizeof buffer);
      if (got <= 0) return "(end)";
      pending_.append(buffer, static_cast<std::size_t>(got));
    }
    const auto at = pending_.find('\n');
    auto line = pending_.substr(0, at);
    pending_.erase(0, at + 1);
    return line;
  }
  // What the process itself reads back from its driver.
  std::map<std::string, std::map<std::uint32_t, int>> timers() {
    std::map<std::string, std::map<std::uint32_t, int>> out;
    say("timers");
    for (auto line = read_line(); line != "ok"; line = read_line()) {
      std::istringstream words(line);
      std::string word, device;
      std::uint32_t qpn = 0;
      int timer = 0;
      words >> word >> device >> qpn >> timer;
      if (word != "timer") FAIL(line);
      out[device][qpn] = timer;
    }
    return out;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  std::map<std::string, std::map<std::uint32_t, int>> made;  // device, QPN, timer
  pid_t heir = 0;

 private:
  pid_t pid_ = 0;
  UniqueFd to_, from_;
  std::string pending_;
};

std::size_t uverbs_held_by(pid_t pid) {
  std::size_t count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored))
    if (std::filesystem::read_symlink(entry, ignored).string().find("uverbs") != std::string::npos) ++count;
  return count;
}

// A real client and a real hand; netlink as the daemon's sources read it.
struct Bench {
  explicit Bench(std::string program = RDMEND_HAND) : client(loop, std::move(program), 20ms), netlink(*hand::RdmaNetlink::open()) {
    client.start();
    for (std::uint32_t i = 0; i < 8; ++i)
      if (auto device = netlink.device(i)) devices[device->name] = *device;
  }

  std::vector<QpInfo> listed(const std::string& device) {
    auto qps = netlink.qps(devices.at(device));
    REQUIRE(qps);
    return std::move(*qps);
  }
  wire::HandRequest about(const std::string& device, const std::set<std::uint32_t>& qpns, Kind kind = Kind::query) {
    wire::HandRequest request;
    request.kind = kind;
    request.device = device;
    request.device_index = devices.at(device).index;
    for (const auto& qp : listed(device))
      if (qpns.contains(qp.qpn)) {
        wire::HandQp asked;
        asked.qpn = qp.qpn;
        asked.pid = qp.pid;
        asked.remote_qpn = qp.remote_qpn.value_or(0);
        asked.state = qp.state;
        request.qps.push_back(asked);
      }
    return request;
  }
  static std::set<std::uint32_t> all(const QpOwner& owner, const std::string& device) {
    std::set<std::uint32_t> out;
    for (const auto& [qpn, timer] : owner.made.at(device)) out.insert(qpn);
    return out;
  }
  std::optional<Result<wire::HandReply>> ask(wire::HandRequest request, milliseconds deadline = 30s) {
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    client.request(std::move(request), deadline, [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    loop.run_until([&] { return answer->has_value(); }, kBound + deadline);
    if (answer->has_value() && **answer) held = std::max<std::uint64_t>(held, (**answer)->held_nanoseconds);
    return *answer;
  }
  wire::HandReply must(wire::HandRequest request) {
    auto answer = ask(std::move(request));
    REQUIRE(answer.has_value());
    if (!*answer) FAIL(answer->error().message);
    return **answer;
  }
  std::string error_of(const wire::HandReply& reply) const { return !reply.error.empty() ? reply.error : reply.qps.empty() ? "" : reply.qps[0].error; }
  // Sets every QP to `code`, expecting what a query told.
  wire::HandRequest change(const std::string& device, const std::set<std::uint32_t>& qpns, std::uint8_t code) {
    const auto seen = must(about(device, qpns));
    auto request = about(device, qpns, Kind::modify_min_rnr_timer);
    for (auto& qp : request.qps) {
      qp.new_min_rnr_timer = code;
      for (const auto& reply : seen.qps)
        if (reply.qpn == qp.qpn) qp.expected = reply.before;
    }
    return request;
  }
  bool back() {
    return loop.run_until([&] { return client.unavailable().empty(); }, 10s);
  }

  daemon::Loop loop;
  daemon::HandClient client;
  hand::RdmaNetlink netlink;
  std::map<std::string, hand::Device> devices;
  std::uint64_t held = 0;
};

std::string count_errors(const wire::HandReply& reply) {
  std::map<std::string, int> errors;
  for (const auto& qp : reply.qps)
    if (!qp.error.empty()) ++errors[qp.error];
  std::string out = reply.error;
  for (const auto& [error, count] : errors) out += "[" + std::to_string(count) + "x " + error + "]";
  return out;
}

void figure(const std::string& text) { std::cout << "figure: " << text << std::endl; }

std::string ms(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(ns) / 1e6);
  return text;
}

// A shell script in the hand's place, to start it with less.
struct Script {
  explicit Script(const std::string& line) {
    std::ofstream(path) << "#!/bin/sh\n" << line << "\n";
    chmod(path.c_str(), 0755);
  }
  ~Script() { std::filesystem::remove(path); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  const std::string path = "/tmp/hand-" + std::to_string(getpid()) + ".sh";
};

}  // namespace

TEST_CASE("every QP of an unmodified process is read right, whichever thread made it") {
  Bench bench;
  for (const std::string mode : {"main", "threads", "ended", "twice"}) {
    INFO(mode);
    QpOwner owner(mode, 40);
    for (const auto& [device, qps] : owner.made) {
      const auto request = bench.about(device, Bench::all(owner, device));
      REQUIRE(request.qps.size() == 40);
      // The kernel tells the thread, and nothing once it has ended.
      const auto pidless = std::count_if(request.qps.begin(), request.qps.end(), [](const auto& qp) { return qp.pid == 0; });
      CHECK(pidless == (mode == "ended" ? 40 : 0));
      const auto others = std::count_if(request.qps.begin(), request.qps.end(), [&](const auto& qp) { return qp.pid != 0 && static_cast<pid_t>(qp.pid) != owner.pid(); });
      CHECK(others == (mode == "threads" ? 40 : 0));
      const auto began = Steady::now();
      const auto reply = bench.must(request);
      figure("query of 40 QPs, " + mode + ": " + ms(static_cast<std::uint64_t>((Steady::now() - began).count())) + ", descriptor held " + ms(reply.held_nanoseconds) + " at most");
      CHECK(count_errors(reply).empty());
      REQUIRE(reply.qps.size() == 40);
      for (const auto& qp : reply.qps) {
        INFO(device << " qpn " << qp.qpn << " " << qp.error);
        CHECK(qp.tgid == static_cast<std::uint32_t>(owner.pid()));
        REQUIRE(qp.before);
        CHECK(qp.before->min_rnr_timer == qps.at(qp.qpn));
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
  Bench bench;
  for (const std::string mode : {"main", "threads", "ended"}) {
    INFO(mode);
    QpOwner owner(mode, 30);
    CHECK(owner.tell("start") == "started");
    const auto all = Bench::all(owner, "rxe2");
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
  CHECK(bench.held < 1'000'000'000);  // it is given back: how soon is a figure, for an emulated machine may be taken off its processor in the midst
}

TEST_CASE("what has changed since it was looked at is not touched") {
  Bench bench;
  QpOwner owner("main", 4);
  const auto qpn = owner.made["rxe1"].begin()->first;
  const auto good = bench.change("rxe1", {qpn}, 25);
  const auto text = std::to_string(qpn);
  auto request = good;
  auto& qp = request.qps[0];
  SECTION("the timer") {
    qp.expected->min_rnr_timer ^= 1;
    CHECK(bench.error_of(bench.must(request)) == "QP " + text + " is no longer as it was expected to be: its peer, port or timer has changed");
  }
  SECTION("the remote GID") {
    qp.expected->remote_gid[15] ^= 1;
    CHECK(bench.error_of(bench.must(request)) == "QP " + text + " is no longer as it was expected to be: its peer, port or timer has changed");
  }
  SECTION("the peer") {
    qp.remote_qpn ^= 1;
    CHECK(bench.error_of(bench.must(request)).ends_with("it is another connection"));
  }
  SECTION("the thread") {
    qp.pid = 1;
    CHECK(bench.error_of(bench.must(request)) == "QP " + text + " is thread " + std::to_string(owner.pid()) + "'s now, not 1's: it is another QP");
  }
  SECTION("the number") {
    qp.qpn = 0xfffff0;
    CHECK(bench.error_of(bench.must(request)) == "QP 16777200 has gone");
  }
  SECTION("the device") {
    request.device = "rxe2";
    CHECK(bench.error_of(bench.must(request)) == "device " + std::to_string(request.device_index) + " is rxe1 now, not rxe2");
    request.device_index = 999;
    CHECK(bench.error_of(bench.must(request)) == "device 999: RDMA netlink: Invalid argument");
  }
  CHECK(bench.must(bench.about("rxe1", {qpn})).qps[0].before->min_rnr_timer == owner.made["rxe1"][qpn]);
  CHECK(bench.error_of(bench.must(good)).empty());
  CHECK(bench.must(bench.about("rxe1", {qpn})).qps[0].before->min_rnr_timer == 25);
}

TEST_CASE("a QP that never left RTR is read, and not written since the kernel would refuse") {
  Bench bench;
  QpOwner owner("rtr", 2);
  const auto qpn = owner.made["rxe1"].begin()->first;
  const auto seen = bench.must(bench.about("rxe1", {qpn}));
  CHECK(count_errors(seen).empty());
  CHECK(seen.qps[0].before->state == 2);
  CHECK(seen.qps[0].before->min_rnr_timer == owner.made["rxe1"][qpn]);
  CHECK(bench.error_of(bench.must(bench.change("rxe1", {qpn}, 20))) == "QP " + std::to_string(qpn) + " is in RTR: the kernel lets the timer be changed in RTS only");
}

TEST_CASE("QPs that are alike in all that can be seen are treated alike, or not at all") {
  Bench bench;
  QpOwner owner("alike", 3);
  const auto all = Bench::all(owner, "rxe1");
  auto request = bench.change("rxe1", all, 22);
  for (const auto& qp : request.qps) REQUIRE(qp.expected);
  auto one = request;
  one.qps.resize(1);
  const auto refused = bench.error_of(bench.must(one));
  CHECK(refused.find("cannot be told from QP ") != std::string::npos);
  auto differ = request;
  differ.qps[1].new_min_rnr_timer = 23;
  CHECK(bench.error_of(bench.must(differ)) == "QP " + std::to_string(differ.qps[0].qpn) + " cannot be told from others that is to get another timer");
  CHECK(owner.timers() == owner.made);
  CHECK(count_errors(bench.must(request)).empty());
  auto expected = owner.made;
  for (auto& [qpn, timer] : expected["rxe1"]) timer = 22;
  CHECK(owner.timers() == expected);
}

TEST_CASE("a device that was handed to another process is found there") {
  Bench bench;
  QpOwner owner("main", 6);
  owner.say("handover");
  const auto line = owner.read_line();
  REQUIRE(line.starts_with("child "));
  owner.heir = std::stoi(line.substr(6));
  owner.reap();
  const auto request = bench.about("rxe1", Bench::all(owner, "rxe1"));
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
  Bench bench;
  QpOwner owner("leaderless", 2);
  const auto ended = [&] { return test::slurp("/proc/" + std::to_string(owner.pid()) + "/status").find("State:\tZ") != std::string::npos; };
  REQUIRE(bench.loop.run_until(ended, 10s));
  const auto reply = bench.must(bench.about("rxe1", Bench::all(owner, "rxe1")));
  REQUIRE(reply.qps.size() == 2);
  for (const auto& qp : reply.qps)
    CHECK(qp.error == "no process was found that has QP " + std::to_string(qp.qpn) + ": process " + std::to_string(owner.pid()) +
                          " is a zombie, or its main thread has ended: the kernel gives no way to its descriptors");
}

TEST_CASE("many QPs take several batches, and none is long") {
  Bench bench;
  QpOwner owner("main", 600);
  const auto all = Bench::all(owner, "rxe2");
  auto began = Steady::now();
  auto reply = bench.must(bench.about("rxe2", all));
  figure("query of 600 QPs: " + ms(static_cast<std::uint64_t>((Steady::now() - began).count())) + ", held " + ms(reply.held_nanoseconds) + " at most");
  CHECK(count_errors(reply).empty());
  for (const auto& qp : reply.qps) CHECK(qp.before->min_rnr_timer == owner.made["rxe2"][qp.qpn]);
  began = Steady::now();
  reply = bench.must(bench.change("rxe2", all, 18));
  figure("query and change of 600 QPs: " + ms(static_cast<std::uint64_t>((Steady::now() - began).count())) + ", held " + ms(reply.held_nanoseconds) + " at most");
  CHECK(count_errors(reply).empty());
  CHECK(std::all_of(reply.qps.begin(), reply.qps.end(), [](const auto& qp) { return qp.after && qp.after->min_rnr_timer == 18; }));
}

// "churned 10000 ebusy 3 tries 1 us 40 failed 0", summed up over several lines.
struct Churn {
  int destroyed = 0, ebusy = 0, most_tries = 0, longest_us = 0, failed = 0;
  void add(const std::string& line) {
    int count = 0, busy = 0, tries = 0, us = 0, bad = 0;
    REQUIRE(std::sscanf(line.c_str(), "churned %d ebusy %d tries %d us %d failed %d", &count, &busy, &tries, &us, &bad) == 5);
    destroyed += count;
    ebusy += busy;
    failed += bad;
    most_tries = std::max(most_tries, tries);
    longest_us = std::max(longest_us, us);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(destroyed) + " destroys, EBUSY " + std::to_string(ebusy) + " times, at most " + std::to_string(most_tries) + " in a row for " +
           std::to_string(longest_us) + " us, " + std::to_string(failed) + " failed";
  }
};

TEST_CASE("ten thousand destroys against the hand: each succeeds on plain retry") {
  Bench bench;
  QpOwner owner("main", 20);
  owner.say("churn 10000");
  Churn churn;
  bool churning = true;
  std::size_t asked = 0, read = 0, changed = 0, refused = 0;
  // The hand is kept busy without a pause for as long as the owner destroys and makes, and the owner for as long as it takes fifty requests.
  while (churning) {
    const bool change = asked % 2 == 1;
    std::set<std::uint32_t> everything;
    for (const auto& qp : bench.listed("rxe1")) everything.insert(qp.qpn);
    auto request = bench.about("rxe1", everything, change ? Kind::modify_min_rnr_timer : Kind::query);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = 19;
    const auto reply = bench.must(request);
    ++asked;
    for (const auto& qp : reply.qps) {
      read += qp.before && !change ? 1 : 0;
      changed += qp.after ? 1 : 0;
      refused += qp.error.empty() ? 0 : 1;
    }
    if (const auto said = owner.read_line(0s); said != "(silence)") {
      churn.add(said);
      churning = asked < 50;
      if (churning) owner.say("churn 1000");
    }
  }
  figure("against the hand: " + churn.text());
  figure("meanwhile: " + std::to_string(asked) + " requests, " + std::to_string(read) + " QPs read, " + std::to_string(changed) + " changed, " + std::to_string(refused) +
         " gone or not to be told; held " + ms(bench.held) + " at most");
  CHECK(churn.failed == 0);
  CHECK(read > 0);
  CHECK(changed > 0);
  CHECK(owner.tell("destroy").ends_with(" failed 0"));
}

TEST_CASE("ten thousand destroys against the worst there could be: a hand that reads without a pause") {
  Bench bench;
  QpOwner owner("main", 20);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, owner.pid(), 0)));
  std::vector<UniqueFd> copies;
  for (int number = 3; number < 64; ++number) {
    UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
    struct stat info {};
    if (copy && fstat(copy.get(), &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == bench.devices.at("rxe1").number) copies.push_back(std::move(copy));
  }
  REQUIRE(copies.size() == 1);
  const verbs::Uverbs uverbs{copies[0].get(), bench.devices.at("rxe1").driver_id};
  std::vector<std::uint32_t> handles;
  for (std::uint32_t handle = 0; handle < 100; ++handle)
    if (verbs::query_qp(uverbs, handle)) handles.push_back(handle);
  REQUIRE(handles.size() == 20);
  std::atomic<bool> going = true;
  std::size_t reads = 0, busy = 0;
  const auto began = Steady::now();
  std::thread reader([&] {
    while (going)
      for (const auto handle : handles) {
        const auto seen = verbs::query_qp(uverbs, handle);
        reads += seen ? 1 : 0;
        busy += !seen && seen.error().code == EBUSY ? 1 : 0;
      }
  });
  Churn churn;
  churn.add(owner.tell("churn 10000"));
  going = false;
  reader.join();
  const auto took = static_cast<std::uint64_t>((Steady::now() - began).count());
  figure("against a loop that reads without a pause: " + churn.text());
  figure("meanwhile: " + std::to_string(reads) + " reads, one in " + std::to_string(took / 1000 / std::max<std::size_t>(reads, 1)) + " us; " + std::to_string(busy) +
         " of them met a destroy");
  CHECK(churn.failed == 0);
  CHECK(churn.destroyed == 10'000);
  CHECK(reads > 1000);
  copies.clear();
  CHECK(owner.tell("destroy").ends_with(" failed 0"));
}

TEST_CASE("the owner may be killed at any point of a batch") {
  Bench bench;
  std::mt19937 random(61);  // NOLINT(cert-msc51-cpp): the same points each run
  std::map<std::string, int> ends;
  std::chrono::microseconds whole{0};
  constexpr std::size_t kQps = 100;
  for (int round = 0; round < 20; ++round) {
    QpOwner owner(round % 2 == 0 ? "main" : "ended", kQps);
    auto request = bench.about("rxe1", Bench::all(owner, "rxe1"), Kind::modify_min_rnr_timer);
    REQUIRE(request.qps.size() == kQps);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = 21;
    if (round == 0) {  // how long it takes undisturbed: the blows fall within that
      const auto began = Steady::now();
      CHECK(count_errors(bench.must(request)).empty());
      whole = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - began);
    }
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    bench.client.request(request, 20s, [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    const auto strike = Steady::now() + whole * (random() % 1000) / 1000;
    std::this_thread::sleep_until(strike);  // the hand works by itself meanwhile
    owner.end();
    REQUIRE(bench.loop.run_until([&] { return answer->has_value(); }, 30s));
    REQUIRE(**answer);
    const auto done = std::count_if((**answer)->qps.begin(), (**answer)->qps.end(), [](const auto& qp) { return qp.error.empty(); });
    ++ends[done == kQps ? "all done" : done == 0 ? "none" : "some"];
    CHECK(uverbs_held_by(bench.client.child()) == 0);
    // Nothing keeps what the dead process had.
    const auto none_left = [&] { return bench.about("rxe1", Bench::all(owner, "rxe1")).qps.empty(); };
    CHECK(bench.loop.run_until(none_left, 5s));
  }
  figure("owner killed 20 times during a batch: all done " + std::to_string(ends["all done"]) + ", some " + std::to_string(ends["some"]) + ", none " + std::to_string(ends["none"]));
}

TEST_CASE("the hand may be killed at any point of a batch") {
  Bench bench;
  QpOwner owner("main", 60);
  std::mt19937 random(62);  // NOLINT(cert-msc51-cpp)
  const auto all = Bench::all(owner, "rxe1");
  int unanswered = 0;
  auto first = bench.about("rxe1", all, Kind::modify_min_rnr_timer);
  for (auto& qp : first.qps) qp.new_min_rnr_timer = 30;
  const auto began = Steady::now();
  CHECK(count_errors(bench.must(first)).empty());
  const auto whole = Steady::now() - began;
  for (int round = 0; round < 20; ++round) {
    bench.must(bench.about("rxe1", {}, Kind::probe));  // an answer resets the back-off
    auto request = bench.about("rxe1", all, Kind::modify_min_rnr_timer);
    const auto code = static_cast<std::uint8_t>(1 + round);
    for (auto& qp : request.qps) qp.new_min_rnr_timer = code;
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    const auto child = bench.client.child();
    bench.client.request(request, 20s, [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    const auto strike = Steady::now() + whole * (random() % 1000) / 1000;
    std::this_thread::sleep_until(strike);
    kill(child, SIGKILL);
    REQUIRE(bench.loop.run_until([&] { return answer->has_value(); }, 30s));
    if (!**answer) {
      CHECK((*answer)->error().message == "rdmend-hand was killed by signal 9 (Killed)");
      ++unanswered;
    }
    REQUIRE(bench.loop.run_until([&] { return bench.client.child() != child && bench.client.unavailable().empty(); }, 10s));
  }
  figure("hand killed 20 times during a request: " + std::to_string(unanswered) + " unanswered");
  CHECK(unanswered > 0);
  // The owner's QPs are whole: all in RTS, read right by a fresh hand, and it destroys them at the first try.
  const auto reply = bench.must(bench.about("rxe1", all));
  CHECK(count_errors(reply).empty());
  for (const auto& qp : reply.qps) CHECK(qp.before->state == 3);
  CHECK(owner.tell("destroy") == "destroyed 120 ebusy 0 failed 0");
}

TEST_CASE("CAP_SYS_PTRACE alone is enough, for a user who is nobody; without it the reason is given") {
  QpOwner owner("main", 4);  // root's
  const auto as_nobody = std::string("exec /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups ");
  SECTION("with") {
    const Script script(as_nobody + "--bounding-set=-all,+sys_ptrace --inh-caps=-all,+sys_ptrace --ambient-caps=-all,+sys_ptrace " RDMEND_HAND);
    Bench bench(script.path);
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
    CHECK(bench.error_of(bench.must(bench.about("rxe1", Bench::all(owner, "rxe1"), Kind::probe))).empty());
    const auto reply = bench.must(bench.change("rxe1", Bench::all(owner, "rxe1"), 24));
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
    Bench bench(script.path);
    const auto why = "rdmend-hand lacks CAP_SYS_PTRACE, without which it reaches no other user's process";
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error == why);
    CHECK(bench.error_of(bench.must(bench.about("rxe1", Bench::all(owner, "rxe1")))) == why);
  }
  SECTION("in a user namespace") {
    const Script script("exec /usr/bin/unshare --user --map-root-user " RDMEND_HAND);
    Bench bench(script.path);
    CHECK(bench.error_of(bench.must(bench.about("rxe1", Bench::all(owner, "rxe1")))) ==
          "the kernel refuses the descriptors of process " + std::to_string(owner.pid()) +
              ", though rdmend-hand holds CAP_SYS_PTRACE: rdmend-hand runs in a user namespace that does not own that process");
  }
  SECTION("as root, all but one are given up") {
    Bench bench;
    CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
    const auto status = test::slurp("/proc/" + std::to_string(bench.client.child()) + "/status");
    CHECK(status.find("CapPrm:\t0000000000080000\n") != std::string::npos);
    CHECK(status.find("CapEff:\t0000000000080000\n") != std::string::npos);
    CHECK(status.find("CapBnd:\t0000000000080000\n") != std::string::npos);
  }
}

// hand-systemd.sh runs this one.
TEST_CASE("the hand that systemd starts for the socket is a plain user's, and reaches root's process", "[.systemd]") {
  Bench bench("/run/rdmend-hand.sock");
  QpOwner owner("main", 4);
  CHECK(bench.client.child() == 0);
  CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error.empty());
  const auto reply = bench.must(bench.change("rxe1", Bench::all(owner, "rxe1"), 26));
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
  CHECK(count_errors(bench.must(bench.about("rxe1", Bench::all(owner, "rxe1")))).empty());
}

TEST_CASE("the hand ends when its socket closes") {
  pid_t child = 0;
  {
    Bench bench;
    bench.must(bench.about("rxe1", {}, Kind::probe));
    child = bench.client.child();
    REQUIRE(kill(child, 0) == 0);
  }
  siginfo_t info{};
  CHECK(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) == 0);
}

TEST_CASE("kernel.yama.ptrace_scope 3 forbids all, and is named") {
  Bench bench;
  QpOwner owner("main", 2);
  std::ofstream("/proc/sys/kernel/yama/ptrace_scope") << "3";
  if (test::slurp("/proc/sys/kernel/yama/ptrace_scope") != "3\n") {
    WARN("this kernel has no Yama");
    return;
  }
  const auto why = "kernel.yama.ptrace_scope is 3: until the next boot no process may reach into another";
  CHECK(bench.must(bench.about("rxe1", {}, Kind::probe)).error == why);
  CHECK(bench.error_of(bench.must(bench.about("rxe1", Bench::all(owner, "rxe1")))) == why);
}

TEST_CASE("after all of it the devices can be taken away at once") {
  Bench bench;
  REQUIRE(bench.back());
  const auto began = Steady::now();
  for (const std::string device : {"rxe1", "rxe2"}) CHECK(test::run_command("timeout 10 rdma link delete " + device + " 2>&1").status == 0);
  const auto took = Steady::now() - began;
  figure("both devices deleted in " + ms(static_cast<std::uint64_t>(took.count())));
  CHECK(took < 5s);
  wire::HandRequest request;
  request.kind = Kind::query;
  request.device = "rxe1";
  request.device_index = bench.devices.at("rxe1").index;
  CHECK(bench.must(request).error.starts_with("device "));
}
