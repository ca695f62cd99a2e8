// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <string_view>

#include "command.hpp"
#include "command_line.hpp"

namespace {

using namespace rdmend;
using namespace rdmend::ctl;

// A sub-command is one row here and one file; `group` is the word before its name, or "".
struct Row {
  const char* group;
  Register add;
};
constexpr Row kCommands[] = {
    {"", add_status},
    {"", add_qps},
    {"", add_alerts},
    {"", add_remedies},
    {"", add_history},
    {"", add_events},
    {"", add_query},
    {"", add_explain},
    {"", add_mode},
    {"", add_undo},
    {"", add_breaker},
    {"", add_reload},
    {"check", add_check_config},
    {"check", add_check_rules},
    {"test", add_test_rules},
    {"export", add_export_rules},
};

struct Group {
  const char* name;
  const char* help;
};
constexpr Group kGroups[] = {
    {"check", "Check a file without touching the daemon"},
    {"test", "Run tests of rules without the daemon"},
    {"export", "Write files for other programs"},
};

CLI::App& parent_of(CLI::App& app, std::string_view group) {
  if (group.empty()) return app;
  for (CLI::App* known :
       app.get_subcommands([&](const CLI::App* child) { return child->get_name() == group; }))
    return *known;
  CLI::App* made = app.add_subcommand(std::string(group));
  for (const Group& row : kGroups)
    if (row.name == group) made->description(row.help);
  made->require_subcommand(1);
  return *made;
}

int run(int argc, char** argv) {
  CLI::App app{"Talks to rdmend, and checks and tests its files.", "rdmendctl"};
  Globals globals;
  int exit = fine;
  app.set_version_flag("--version", "rdmendctl " RDMEND_VERSION);
  app.add_option("--socket", globals.control_socket, "Control socket of the daemon")
      ->envname("RDMEND_CONTROL_SOCKET")
      ->type_name("PATH")
      ->check(command_line::socket_path())
      ->capture_default_str();
  app.require_subcommand(1);
  app.fallthrough();  // --socket may stand after the command too
  app.footer(
      "Exit code: 0 fine, 1 something is wrong with what was asked about, 2 wrong command line, 3 rdmend "
      "cannot be reached");
  for (const Row& row : kCommands) row.add(parent_of(app, row.group), globals, exit);
  return command_line::parse(app, argc, argv).value_or(exit);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rdmendctl: {}\n", e.what());
    return wrong;
  }
}
