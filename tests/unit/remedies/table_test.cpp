// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>

#include "remedies/remedy.hpp"

using namespace rdmend;
using namespace rdmend::remedies;

namespace {

RemedyParam scalar(std::string name, std::string value, std::uint32_t line = 4) { return {std::move(name), {std::move(value)}, false, {line, 7}, {line, 20}}; }
RemedyParam list(std::string name, std::vector<std::string> values) { return {std::move(name), std::move(values), true, {4, 7}, {4, 20}}; }

// The description of the compiled step, or its faults.
std::string compiled(const std::string& kind, std::vector<RemedyParam> params) {
  Diagnostics diagnostics;
  const auto remedy = compile({kind, "r.yaml", {3, 5}, std::move(params)}, diagnostics);
  CHECK((remedy == nullptr) == diagnostics.failed());
  return remedy ? remedy->describe() : diagnostics.text();
}

}  // namespace

TEST_CASE("steps are described by what they will do") {
  CHECK(compiled("raise_min_rnr_timer", {}) == "raise_min_rnr_timer factor 4, ceiling 10 ms");
  CHECK(compiled("raise_min_rnr_timer", {scalar("factor", "1.5"), scalar("ceiling", "640us")}) == "raise_min_rnr_timer factor 1.5, ceiling 0.64 ms");
  CHECK(compiled("raise_min_rnr_timer", {scalar("ceiling", "655.36ms")}) == "raise_min_rnr_timer factor 4, ceiling 655 ms");
  CHECK(compiled("run_hook", {list("command", {"/bin/true", "a b"}), scalar("deadline", "1m")}) == "run_hook /bin/true a b, deadline 1m");
  CHECK(compiled("restart_unit", {scalar("unit", "opensm@0x1.service"), scalar("deadline", "2m")}) == "restart_unit opensm@0x1.service, deadline 2m");
  CHECK(compiled("restart_unit", {scalar("unit", "rdma.target")}) == "restart_unit rdma.target, deadline 30s");
  CHECK(compiled("advise", {scalar("about", "timeout")}) == "advise about timeout");
  CHECK(compiled("refresh_neighbour", {}) == "refresh_neighbour");
}

TEST_CASE("kinds and parameters that do not exist") {
  CHECK(compiled("raise_min_rnr_timr", {}) == "r.yaml:3:5: error: unknown remedy 'raise_min_rnr_timr'; did you mean 'raise_min_rnr_timer'?\n");
  CHECK(compiled("reboot_everything", {}) ==
        "r.yaml:3:5: error: unknown remedy 'reboot_everything'; legal are: raise_min_rnr_timer, refresh_neighbour, run_hook, restart_unit, advise\n");
  CHECK(compiled("raise_min_rnr_timer", {scalar("factr", "4")}) ==
        "r.yaml:4:7: error: unknown parameter 'factr' of raise_min_rnr_timer; did you mean 'factor'?\n");
  CHECK(compiled("advise", {scalar("about", "timeout"), scalar("zzzzzzzz", "x", 5)}) ==
        "r.yaml:5:7: error: unknown parameter 'zzzzzzzz' of advise; legal are: about\n");
  CHECK(compiled("raise_min_rnr_timer", {scalar("factor", "4"), scalar("factor", "5", 5)}) ==
        "r.yaml:5:7: error: parameter 'factor' of raise_min_rnr_timer is given twice\n");
}

TEST_CASE("values that cannot be, all at once") {
  CHECK(compiled("raise_min_rnr_timer", {scalar("factor", "one"), scalar("ceiling", "5us", 5)}) ==
        "r.yaml:4:20: error: factor is 'one': not a number above 1, at most 65536; for instance 4\n"
        "r.yaml:5:20: error: ceiling is '5us': not a duration from 10us to 655.36ms; for instance 640us or 10ms\n");
  for (const char* factor : {"1", "0", "-4", "nan", "inf", "1e3", "4x", "", "65537"}) {
    INFO(factor);
    CHECK(compiled("raise_min_rnr_timer", {scalar("factor", factor)}) ==
          "r.yaml:4:20: error: factor is '" + std::string(factor) + "': not a number above 1, at most 65536; for instance 4\n");
  }
  for (const char* ceiling : {"10", "", "0s", "656ms", "1s", "ten"}) {
    INFO(ceiling);
    CHECK(compiled("raise_min_rnr_timer", {scalar("ceiling", ceiling)}) ==
          "r.yaml:4:20: error: ceiling is '" + std::string(ceiling) + "': not a duration from 10us to 655.36ms; for instance 640us or 10ms\n");
  }
  CHECK(compiled("raise_min_rnr_timer", {list("factor", {"4", "5"})}) == "r.yaml:4:20: error: 'factor' takes one value, not a list\n");
  CHECK(compiled("raise_min_rnr_timer", {scalar("factor", "\x1b[31m")}) ==
        "r.yaml:4:20: error: factor is '\\x1b[31m': not a number above 1, at most 65536; for instance 4\n");
}

TEST_CASE("hooks: an absolute path and a list, or not at all") {
  const std::string hint = "for instance command: [/usr/local/sbin/hook, argument]\n";
  CHECK(compiled("run_hook", {}) == "r.yaml:3:5: error: run_hook needs the parameter 'command'; " + hint);
  CHECK(compiled("run_hook", {scalar("command", "/bin/true -x")}) ==
        "r.yaml:4:20: error: command is not a list: the program and each argument are an item of their own; " + hint);
  CHECK(compiled("run_hook", {list("command", {"true"})}) == "r.yaml:4:20: error: 'true' is not an absolute path; " + hint);
  CHECK(compiled("run_hook", {list("command", {""})}) == "r.yaml:4:20: error: '' is not an absolute path; " + hint);
  CHECK(compiled("run_hook", {list("command", {"/bin/true", std::string("a\0b", 3)})}) == "r.yaml:4:20: error: command has an item with a NUL byte in it\n");
  CHECK(compiled("run_hook", {list("command", std::vector<std::string>(257, "/bin/true"))}) == "r.yaml:4:20: error: command has 257 items; at most 256\n");
  for (const char* deadline : {"0s", "99ms", "11m", "soon"})
    CHECK(compiled("run_hook", {list("command", {"/bin/true"}), scalar("deadline", deadline)}) ==
          "r.yaml:4:20: error: deadline is '" + std::string(deadline) + "': not a duration from 100ms to 10m; for instance 10s\n");
}

TEST_CASE("units: a whole name, and not rdmend's own") {
  const std::string hint = "; for instance opensm.service\n";
  CHECK(compiled("restart_unit", {}) == "r.yaml:3:5: error: restart_unit needs the parameter 'unit'" + hint);
  CHECK(compiled("restart_unit", {list("unit", {"a.service", "b.service"})}) == "r.yaml:4:20: error: 'unit' takes one value, not a list\n");
  const std::string too_long = std::string(250, 'a') + ".service";
  for (const std::string name : {"opensm", "", ".service", "a b.service", "../x.service", "@1.service", "a;b.service", "\xc3\xa4.service"}) {
    INFO(name);
    CHECK(compiled("restart_unit", {scalar("unit", name)}).find(": not the name of a unit with its suffix" + hint) != std::string::npos);
  }
  CHECK(compiled("restart_unit", {scalar("unit", too_long)}).find(": not the name of a unit with its suffix" + hint) != std::string::npos);
  for (const std::string name : {"user.slice", "session-1.scope", "dev-sda.device", "opensm.servic"})
    CHECK(compiled("restart_unit", {scalar("unit", name)}) ==
          "r.yaml:4:20: error: unit is '" + name + "': not a unit that can be restarted: those end in .service, .socket, .target, .mount, .timer, .path" + hint);
  CHECK(compiled("restart_unit", {scalar("unit", "opensm@.service")}) ==
        "r.yaml:4:20: error: unit is 'opensm@.service': a template: the instance is missing between '@' and the suffix" + hint);
  CHECK(compiled("restart_unit", {scalar("unit", "rdmend.service"), scalar("deadline", "0s", 5)}) ==
        "r.yaml:4:20: error: unit is 'rdmend.service': rdmend's own unit, which it does not restart" + hint +
            "r.yaml:5:20: error: deadline is '0s': not a duration from 1s to 10m; for instance 30s\n");
  for (const char* deadline : {"999ms", "11m", "soon", ""})
    CHECK(compiled("restart_unit", {scalar("unit", "a.service"), scalar("deadline", deadline)}) ==
          "r.yaml:4:20: error: deadline is '" + std::string(deadline) + "': not a duration from 1s to 10m; for instance 30s\n");
}

TEST_CASE("advice: a topic that exists") {
  CHECK(compiled("advise", {}) == "r.yaml:3:5: error: advise needs the parameter 'about'; legal are: receive_queue, timeout\n");
  CHECK(compiled("advise", {scalar("about", "receive_que")}) ==
        "r.yaml:4:20: error: unknown topic 'receive_que' of advise; did you mean 'receive_queue'?\n");
  CHECK(compiled("advise", {scalar("about", "the weather")}) ==
        "r.yaml:4:20: error: unknown topic 'the weather' of advise; legal are: receive_queue, timeout\n");
}
