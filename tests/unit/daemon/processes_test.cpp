// SPDX-License-Identifier: Apache-2.0
#include "rdmend/processes.hpp"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>

#include "rdmend/loop.hpp"
#include "support/temp_directory.hpp"
#include "support/until.hpp"

using namespace rdmend;
using daemon::ChildProcesses;

namespace {

struct Hooks {
  daemon::Loop loop;
  ChildProcesses processes{loop};

  remedies::Processes::Exit run(std::vector<std::string> argv, std::string input = {}, milliseconds deadline = seconds{20},
                                std::vector<std::string> environment = {"PATH=/usr/bin:/bin"}) {
    std::optional<remedies::Processes::Exit> exit;
    processes.run(std::move(argv), std::move(environment), std::move(input), deadline, [&](auto got) { exit = std::move(got); });
    REQUIRE(test::until(loop, [&] { return exit.has_value(); }, seconds{30}));
    return *exit;
  }
  remedies::Processes::Exit shell(const std::string& script, std::string input = {}, milliseconds deadline = seconds{20}) {
    return run({"/bin/sh", "-c", script}, std::move(input), deadline);
  }
};

// A zombie that nobody reaps has no executable any more.
bool ended(pid_t pid) { return !std::filesystem::exists("/proc/" + std::to_string(pid) + "/exe"); }

}  // namespace

TEST_CASE("a hook reads its input, and its output and exit status come back") {
  Hooks hooks;
  auto exit = hooks.shell("cat; echo to stderr >&2; exit 3", "the alert\n");
  CHECK(exit.status == 3);
  CHECK_FALSE(exit.timed_out);
  CHECK(exit.output == "the alert\nto stderr\n");
  CHECK(exit.error.empty());
  exit = hooks.shell("wc -c", std::string(1'000'000, 'x'));  // far more than a pipe holds
  CHECK(exit.output == "1000000\n");
  CHECK(hooks.shell("true").status == 0);
}

TEST_CASE("a hook gets the environment it was given, no descriptor of ours, no signal setting of ours") {
  signal(SIGPIPE, SIG_IGN);
  Hooks hooks;
  const auto environment = hooks.run({"/usr/bin/env"}, {}, seconds{20}, {"RDMEND_RULE=R", "RDMEND_LABEL_DEVICE=rxe2"});
  CHECK(environment.output == "RDMEND_RULE=R\nRDMEND_LABEL_DEVICE=rxe2\n");
  CHECK(hooks.shell("pwd").output == "/\n");
  CHECK(hooks.shell("cd /proc/self/fd; for f in *; do [ $f -gt 2 ] && [ $f -ne 255 ] && readlink $f; done; true").output.find("pipe") == std::string::npos);
  const auto ignored = std::stoull(hooks.shell("sed -n 's/SigIgn:\t//p' /proc/self/status").output, nullptr, 16);
  CHECK((ignored & (1ULL << (SIGPIPE - 1))) == 0);
  signal(SIGPIPE, SIG_DFL);
}

TEST_CASE("what cannot be started says why, later") {
  Hooks hooks;
  CHECK(hooks.run({"/nowhere/at/all"}).error == "/nowhere/at/all: No such file or directory");
  CHECK(hooks.run({"/"}).error == "/: Permission denied");
  CHECK(hooks.run({"/nowhere"}).status == -1);
  CHECK(hooks.run({}).error == "there is no command");
}

TEST_CASE("a hook that is ended by a signal says which") { CHECK(Hooks().shell("kill -TERM $$").status == 128 + SIGTERM); }

TEST_CASE("at its deadline a hook's whole group is killed, deaf to SIGTERM or not") {
  Hooks hooks;
  const auto exit = hooks.shell("trap '' TERM; sleep 1000 & echo $!; wait", {}, milliseconds{500});
  CHECK(exit.timed_out);
  CHECK(exit.status == 128 + SIGKILL);
  const auto grandchild = static_cast<pid_t>(std::stol(exit.output));
  CHECK(test::until(hooks.loop, [&] { return ended(grandchild); }));
}

TEST_CASE("a hook is over when it ends, whatever it left behind holding its output") {
  Hooks hooks;
  const auto exit = hooks.shell("sleep 1000 & echo $!");
  CHECK(exit.status == 0);
  CHECK_FALSE(exit.timed_out);
  const auto left = static_cast<pid_t>(std::stol(exit.output));
  CHECK(test::until(hooks.loop, [&] { return ended(left); }));
}

TEST_CASE("output is bounded, and a talkative hook does not stop") {
  Hooks hooks;
  const auto exit = hooks.shell("head -c 3000000 /dev/zero | tr '\\0' 'y'; exit 5");
  CHECK(exit.status == 5);
  CHECK(exit.output == std::string(ChildProcesses::kMostOutput, 'y'));
}

TEST_CASE("so many run at once, no more; the end of the daemon ends them") {
  std::vector<pid_t> pids;
  {
    Hooks hooks;
    const test::TempDirectory directory;
    int ended = 0;
    for (std::size_t i = 0; i < ChildProcesses::kMostAtOnce; ++i)
      hooks.processes.run({"/bin/sh", "-c", "echo $$ > " + directory.path() + "/$$.pid; sleep 1000"}, {"PATH=/usr/bin:/bin"}, {}, std::chrono::minutes{5},
                          [&](const auto&) { ++ended; });
    CHECK(hooks.run({"/bin/true"}).error == "too many hooks run already");
    const auto started = [&] {
      pids.clear();
      for (const auto& file : std::filesystem::directory_iterator(directory.path())) pids.push_back(static_cast<pid_t>(std::stol(file.path().stem())));
      return pids.size() == ChildProcesses::kMostAtOnce;
    };
    REQUIRE(test::until(hooks.loop, started, seconds{30}));
    CHECK(ended == 0);
  }
  daemon::Loop loop;
  for (const auto pid : pids)
    CHECK(test::until(loop, [&] { return ended(pid); }));
}
