// SPDX-License-Identifier: Apache-2.0
// The client of systemd over a real bus. The manager at its other end is this test's, so that it can refuse, lie and fall silent;
// tests/e2e/restart_unit.sh has the real one.
#include "rdmend/units.hpp"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include "rdmend/loop.hpp"
#include "support/child.hpp"
#include "support/temp_directory.hpp"
#include "support/until.hpp"

using namespace rdmend;
using remedies::UnitState;

namespace {

// A bus of the test's own, where libsystemd looks for the system's.
struct PrivateBus {
  PrivateBus() {
    std::ofstream(config()) << "<busconfig><type>system</type><listen>unix:path=" << socket() << "</listen><auth>EXTERNAL</auth>"
                            << "<policy context='default'><allow user='*'/><allow own='*'/><allow send_destination='*'/>"
                            << "<allow receive_sender='*'/></policy></busconfig>";
    setenv("DBUS_SYSTEM_BUS_ADDRESS", ("unix:path=" + socket()).c_str(), 1);
  }
  ~PrivateBus() { unsetenv("DBUS_SYSTEM_BUS_ADDRESS"); }
  [[nodiscard]] std::string config() const { return directory.path() + "/bus.conf"; }
  [[nodiscard]] std::string socket() const { return directory.path() + "/bus"; }
  test::TempDirectory directory;
};

// What the manager knows and does. Set before it runs.
struct Manager {
  std::map<std::string, std::string> text{{"Id", "sm.service"}, {"LoadState", "loaded"}, {"ActiveState", "failed"}, {"SubState", "dead"}};
  std::map<std::string, std::map<std::string, std::vector<std::string>>> relations;  // of each unit
  int refuses_stop = 0;
  std::string denies;        // the name of the error that a restart is answered with
  std::string result = "done";  // of the job; "" when it never ends
  bool silent = false;       // no answer at all
  std::atomic<int> restarts{0};
  sd_bus* bus = nullptr;
};

std::string unit_of(const char* path) {
  char* name = nullptr;
  if (sd_bus_path_decode(path, "/org/freedesktop/systemd1/unit", &name) <= 0) return {};
  std::string out = name;
  free(name);
  return out;
}

int on_load(sd_bus_message* m, void* data, sd_bus_error*) {
  if (static_cast<Manager*>(data)->silent) return 1;
  const char* name = nullptr;
  sd_bus_message_read(m, "s", &name);
  char* path = nullptr;
  sd_bus_path_encode("/org/freedesktop/systemd1/unit", name, &path);
  const int r = sd_bus_reply_method_return(m, "o", path);
  free(path);
  return r;
}
int on_subscribe(sd_bus_message* m, void*, sd_bus_error*) { return sd_bus_reply_method_return(m, ""); }
int on_restart(sd_bus_message* m, void* data, sd_bus_error* error) {
  auto& manager = *static_cast<Manager*>(data);
  const char *name = nullptr, *mode = nullptr;
  sd_bus_message_read(m, "ss", &name, &mode);
  if (!manager.denies.empty()) return sd_bus_error_set(error, manager.denies.c_str(), "so says\nthe manager");
  if (std::string(mode) != "replace") return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "only valid for stop");
  ++manager.restarts;
  const auto ends = [&](std::uint32_t id, const char* job, const std::string& result) {
    sd_bus_emit_signal(manager.bus, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss", id, job, name, result.c_str());
  };
  ends(6, "/org/freedesktop/systemd1/job/6", "failed");  // somebody else's
  const int r = sd_bus_reply_method_return(m, "o", "/org/freedesktop/systemd1/job/7");
  manager.text["ActiveState"] = "active";
  if (!manager.result.empty()) ends(7, "/org/freedesktop/systemd1/job/7", manager.result);
  return r;
}
int get_text(sd_bus*, const char*, const char*, const char* name, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", static_cast<Manager*>(data)->text[name].c_str());
}
int get_refuses(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "b", static_cast<Manager*>(data)->refuses_stop);
}
int get_invocation(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return sd_bus_message_append(reply, "ay", 3, 0, 0x1f, 0xff);
}
int get_units(sd_bus*, const char* path, const char*, const char* name, sd_bus_message* reply, void* data, sd_bus_error*) {
  sd_bus_message_open_container(reply, 'a', "s");
  for (const auto& unit : static_cast<Manager*>(data)->relations[unit_of(path)][name]) sd_bus_message_append(reply, "s", unit.c_str());
  return sd_bus_message_close_container(reply);
}

const sd_bus_vtable kManagerTable[] = {SD_BUS_VTABLE_START(0),
                                       SD_BUS_METHOD("LoadUnit", "s", "o", on_load, SD_BUS_VTABLE_UNPRIVILEGED),
                                       SD_BUS_METHOD("Subscribe", "", "", on_subscribe, SD_BUS_VTABLE_UNPRIVILEGED),
                                       SD_BUS_METHOD("RestartUnit", "ss", "o", on_restart, SD_BUS_VTABLE_UNPRIVILEGED),
                                       SD_BUS_VTABLE_END};
const sd_bus_vtable kUnitTable[] = {SD_BUS_VTABLE_START(0),
                                    SD_BUS_PROPERTY("Id", "s", get_text, 0, 0),
                                    SD_BUS_PROPERTY("LoadState", "s", get_text, 0, 0),
                                    SD_BUS_PROPERTY("ActiveState", "s", get_text, 0, 0),
                                    SD_BUS_PROPERTY("SubState", "s", get_text, 0, 0),
                                    SD_BUS_PROPERTY("InvocationID", "ay", get_invocation, 0, 0),
                                    SD_BUS_PROPERTY("RefuseManualStart", "b", get_refuses, 0, 0),
                                    SD_BUS_PROPERTY("RefuseManualStop", "b", get_refuses, 0, 0),
                                    SD_BUS_PROPERTY("RequiredBy", "as", get_units, 0, 0),
                                    SD_BUS_PROPERTY("RequisiteOf", "as", get_units, 0, 0),
                                    SD_BUS_PROPERTY("BoundBy", "as", get_units, 0, 0),
                                    SD_BUS_PROPERTY("ConsistsOf", "as", get_units, 0, 0),
                                    SD_BUS_VTABLE_END};  // no PropagatesStopTo, as before systemd 249

int find_unit(sd_bus*, const char*, const char*, void* data, void** found, sd_bus_error*) {
  *found = data;
  return 1;
}

// The bus, the manager's thread and rdmend's side.
struct Bench {
  Bench() : daemon({"dbus-daemon", "--nofork", "--nopidfile", "--config-file=" + bus.config()}, bus.directory.path() + "/log") {
    REQUIRE(test::until(loop, [&] { return manager.bus != nullptr || sd_bus_open_system(&manager.bus) >= 0; }));  // asked more often than it is needed
    REQUIRE(sd_bus_request_name(manager.bus, "org.freedesktop.systemd1", 0) >= 0);
    REQUIRE(sd_bus_add_object_vtable(manager.bus, nullptr, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", kManagerTable, &manager) >= 0);
    REQUIRE(sd_bus_add_fallback_vtable(manager.bus, nullptr, "/org/freedesktop/systemd1/unit", "org.freedesktop.systemd1.Unit", kUnitTable, find_unit, &manager) >= 0);
  }
  ~Bench() {
    ended = true;
    if (thread.joinable()) thread.join();
    sd_bus_close_unref(manager.bus);
  }
  void serve() {
    thread = std::thread([this] {
      while (!ended)
        if (sd_bus_process(manager.bus, nullptr) == 0) sd_bus_wait(manager.bus, 5000);
    });
  }
  Result<UnitState> look(const std::string& unit, milliseconds deadline = seconds{20}) {
    std::optional<Result<UnitState>> out;
    units.look(unit, deadline, [&](auto got) { out = std::move(got); });
    REQUIRE(test::until(loop, [&] { return out.has_value(); }, seconds{30}));
    return *out;
  }
  Result<UnitState> restart(milliseconds deadline = seconds{20}) {
    std::optional<Result<UnitState>> out;
    units.restart("sm.service", deadline, [&](auto got) { out = std::move(got); });
    REQUIRE(test::until(loop, [&] { return out.has_value(); }, seconds{30}));
    return *out;
  }
  std::string permission() {
    std::optional<Result<void>> out;
    units.may_restart("sm.service", seconds{20}, [&](auto got) { out = std::move(got); });
    REQUIRE(test::until(loop, [&] { return out.has_value(); }, seconds{30}));
    return *out ? "" : out->error().message;
  }

  PrivateBus bus;
  test::Child daemon;
  Manager manager;
  daemon::Loop loop;
  daemon::SystemdUnits units{loop, "rdmend.service"};
  std::atomic<bool> ended{false};
  std::thread thread;
};

const std::string kCure = " (a polkit rule has to allow org.freedesktop.systemd1.manage-units to rdmend's user)";

}  // namespace

TEST_CASE("a unit is looked at and restarted, and the end of another's job is not taken for its own") {
  Bench bench;
  bench.serve();
  const auto before = bench.look("alias.service");
  REQUIRE(before);
  CHECK(before->id == "sm.service");
  CHECK(before->load_state == "loaded");
  CHECK(before->active_state + " " + before->sub_state == "failed dead");
  CHECK(before->invocation == "001fff");
  CHECK(before->by_hand);
  CHECK_FALSE(before->takes_rdmend_along);
  CHECK(bench.permission().empty());
  CHECK(bench.manager.restarts == 0);  // to ask is not to do
  const auto after = bench.restart();
  REQUIRE(after);
  CHECK(after->active_state == "active");
  CHECK(bench.manager.restarts == 1);
}

TEST_CASE("what would stop rdmend's unit is known, at any remove and in circles") {
  Bench bench;
  SECTION("itself") { bench.manager.text["Id"] = "rdmend.service"; }
  SECTION("at one remove") { bench.manager.relations["sm.service"]["ConsistsOf"] = {"other.service", "rdmend.service"}; }
  SECTION("at three") {
    bench.manager.relations["sm.service"]["RequiredBy"] = {"a.target"};
    bench.manager.relations["a.target"]["BoundBy"] = {"b.target", "sm.service"};
    bench.manager.relations["b.target"]["RequiredBy"] = {"a.target", "rdmend.service"};
  }
  bench.serve();
  const auto unit = bench.look("sm.service");
  REQUIRE(unit);
  CHECK(unit->takes_rdmend_along);
}

TEST_CASE("a unit that more depends on than is looked through is left alone") {
  Bench bench;
  for (int i = 0; i < 300; ++i) bench.manager.relations["sm.service"]["RequiredBy"].push_back("u" + std::to_string(i) + ".service");
  bench.serve();
  const auto unit = bench.look("sm.service");
  REQUIRE_FALSE(unit);
  CHECK(unit.error().message == "more than 256 units would stop with sm.service");
}

TEST_CASE("a unit that is not to be stopped by hand") {
  Bench bench;
  bench.manager.refuses_stop = 1;
  bench.serve();
  CHECK_FALSE(bench.look("sm.service")->by_hand);
}

TEST_CASE("a refusal for want of rights is told as such, anything else as it is") {
  Bench bench;
  std::string expected = "restarting sm.service";
  SECTION("polkit would ask a person") {
    bench.manager.denies = SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED;
    expected += " is not permitted: so says\\x0athe manager" + kCure;
  }
  SECTION("no polkit") {
    bench.manager.denies = SD_BUS_ERROR_ACCESS_DENIED;
    expected += " is not permitted: so says\\x0athe manager" + kCure;
  }
  SECTION("another reason") {
    bench.manager.denies = "org.freedesktop.systemd1.OnlyByDependency";
    expected += ": so says\\x0athe manager";
  }
  bench.serve();
  CHECK(bench.permission() == expected);
  CHECK(bench.restart().error().message == expected);
}

TEST_CASE("a job that fails, and one that does not end") {
  Bench bench;
  std::string expected;
  SECTION("failed") {
    bench.manager.result = "dependency";
    expected = "the restart of sm.service has ended with 'dependency'";
  }
  SECTION("endless") {
    bench.manager.result = "";
    expected = "the restart of sm.service did not end in time; systemd goes on with it";
  }
  bench.serve();
  CHECK(bench.restart(milliseconds{1500}).error().message == expected);
}

TEST_CASE("a manager that falls silent costs the deadline, and no more") {
  Bench bench;
  bench.manager.silent = true;
  bench.serve();
  CHECK(bench.look("sm.service", milliseconds{200}).error().message.rfind("looking at sm.service: ", 0) == 0);
}

TEST_CASE("no bus, no manager, or a bus that lets nobody in") {
  PrivateBus bus;
  daemon::Loop loop;
  daemon::SystemdUnits units{loop, ""};
  int listening = -1;
  std::string expected = "the system bus cannot be reached: No such file or directory";
  SECTION("no bus") {}
  SECTION("a bus that does not answer") {
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    bus.socket().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listening, 4) == 0);
    expected = "the system bus does not answer: Connection timed out";
  }
  std::optional<Result<UnitState>> out;
  units.look("sm.service", milliseconds{200}, [&](auto got) { out = std::move(got); });
  REQUIRE(test::until(loop, [&] { return out.has_value(); }, seconds{30}));
  CHECK(out->error().message == expected);
  if (listening >= 0) close(listening);
}
