// SPDX-License-Identifier: Apache-2.0
// The real rdmend on a disk that fills up, and killed with kill -9: it forgets nothing that it could write.
#include <sched.h>
#include <sys/mount.h>

#include <fstream>

#include "e2e/daemon_bench.hpp"

using namespace rdmend::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr auto kJournalRule = R"(groups:
- name: ports
  interval: 1s
  rules:
  - alert: PortDown
    expr: rdma_port_state != 4
    remedy:
    - advise: {about: receive_queue}
  - alert: RdmendJournalUnwritable
    expr: rdmend_journal_writable == 0
)";

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Gives the child a small disk of its own for the state, which only it sees.
void mount_small_disk(const std::string& where) {
  const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       mount("none", where.c_str(), "tmpfs", 0, "size=512k") == 0;
  if (!mounted) _exit(126);
}

}  // namespace

TEST_CASE("a full disk: it goes on, says so once, alarms, and heals by itself") {
  if (run_command("unshare --mount true").status != 0) {
    WARN("no disk can be mounted for the daemon alone, by this user or in this chroot: nothing was tried");
    return;
  }
  DaemonBench b;
  write_file(b.rules(), kJournalRule);
  b.configure("remedies: {allow: [advise]}\n");
  b.before_exec = [where = b.scratch / "state"] { mount_small_disk(where); };
  b.start();
  REQUIRE(eventually([&] { return has(b.get("/metrics"), "rdmend_journal_writable 1\n"); }));
  const auto filler = "/proc/" + std::to_string(b.daemon->pid()) + "/root" + (b.scratch / "state") + "/filler";
  std::ofstream(filler, std::ios::binary) << std::string(std::size_t{1} << 20U, 'x');  // until there is no room

  bool down = false;
  REQUIRE(eventually([&] {  // what there is of the log may still be written over
    (down ? b.sysfs.up("mlx5_1") : b.sysfs.down("mlx5_1"));
    down = !down;
    poll(nullptr, 0, 1500);
    return b.state_of("RdmendJournalUnwritable") == "firing";
  }));
  CHECK(has(b.ctl("status").output, "in memory only: decisions and undos are not written: "));
  CHECK(has(b.get("/metrics"), "rdmend_journal_writable 0\n"));
  CHECK(b.get("/-/healthy") == "rdmend is healthy.\n");
  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return b.state_of("PortDown") == "firing"; }));
  REQUIRE(eventually([&] { return has(b.ctl("history").output, "The journal is in memory only"); }));

  REQUIRE(fs::remove(filler));
  REQUIRE(eventually([&] { return b.state_of("RdmendJournalUnwritable").empty() && has(b.get("/metrics"), "rdmend_journal_writable 1\n"); }));
  CHECK(has(b.ctl("status").output, "written to disk"));
  CHECK(times(b.log(), "decisions and undos are not written: ") == 1);
  CHECK(times(b.log(), "decisions and undos are written again") == 1);
  CHECK(b.stop() == 0);
}

TEST_CASE("a journal that cannot be read at start is taken up once it can be") {
  DaemonBench b;
  b.configure("remedies: {allow: [advise]}\n");
  b.start();
  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return b.get_json("/api/v1/history")["data"]["journal"]["entries"] == 1; }));
  const auto told = b.get_json("/api/v1/history")["data"]["entries"];
  CHECK(b.stop() == 0);
  const auto file = b.scratch / "state/rdmend.db";
  fs::rename(file, file + ".away");
  fs::create_directory(file);
  b.start();
  CHECK(has(b.ctl("status").output, "in memory only: "));
  fs::remove(file);
  fs::rename(file + ".away", file);
  REQUIRE(eventually([&] { return has(b.ctl("status").output, "written to disk"); }));
  const auto after = b.get_json("/api/v1/history")["data"]["entries"];
  REQUIRE_FALSE(after.empty());
  CHECK(after.back() == told.front());
  CHECK(b.stop() == 0);
}

TEST_CASE("history tells what was decided before kill -9, and how long ago") {
  DaemonBench b;
  b.configure("remedies: {allow: [advise]}\n");
  b.start();
  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return b.get_json("/api/v1/history")["data"]["entries"].size() == 1 && b.state_of("PortDownLong") == "pending"; }));
  const auto told = b.get_json("/api/v1/history")["data"]["entries"];
  REQUIRE(eventually([&] { return b.get_json("/api/v1/history")["data"]["journal"]["entries"] == 1; }));
  b.daemon->signal(SIGKILL);
  REQUIRE(eventually([&] { return b.daemon->ended().has_value(); }));
  b.start();
  const auto after = b.get_json("/api/v1/history")["data"]["entries"];
  REQUIRE_FALSE(after.empty());
  CHECK(after.back() == told.front());

  const auto table = b.ctl("history --since 1h");
  INFO(table.output);
  CHECK(table.status == 0);
  CHECK(has(table.output, "TIME (UTC)"));
  CHECK(has(table.output, "advise"));
  CHECK(has(table.output, "PortDown"));
  const auto listed = json::parse(b.ctl("history --since 1h --limit 1 --json").output, nullptr, false);
  REQUIRE(listed.is_object());
  CHECK(listed["entries"].size() == 1);
  CHECK(b.get_json("/api/v1/history?since=2100-01-01T00:00:00Z")["data"]["entries"].empty());
  CHECK(b.get_json("/api/v1/history?since=soon")["error"] == "invalid parameter \"since\": \"soon\" is neither a duration, such as 1h, nor a time");
  CHECK(b.get_json("/api/v1/history?limit=0")["error"] == "invalid parameter \"limit\": '0' is not a number from 1 up");
  CHECK(b.ctl("history --since soon").output ==
        "rdmendctl history: --since: 'soon' is not a duration like 30m or 1h\nsee 'rdmendctl history --help'\n");
  CHECK(b.ctl("history --limit 10001").output ==
        "rdmendctl history: --limit: '10001' is not a whole number, 1 to 10000\nsee 'rdmendctl history --help'\n");
}
