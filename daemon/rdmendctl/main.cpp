// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"

namespace {

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
  for (CLI::App* known : app.get_subcommands([&](const CLI::App* child) { return child->get_name() == group; })) return *known;
  CLI::App* made = app.add_subcommand(std::string(group));
  for (const Group& row : kGroups)
    if (row.name == group) made->description(row.help);
  made->require_subcommand(1);
  return *made;
}

// A word that is no sub-command, said with the one that was meant: CLI11 only calls it an unexpected argument.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    const auto children = at->get_subcommands({});
    if (children.empty() || word.starts_with('-')) return {};
    std::vector<std::string_view> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* child : children) {
      names.push_back(child->get_name());
      if (child->get_name() == word) next = child;
    }
    if (next == nullptr) return fmt::format("unknown command '{}'; {}", rdmend::printable(word, 64), rdmend::did_you_mean(word, names));
    at = next;
  }
  return {};
}

const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

int run(int argc, char** argv) {
  CLI::App app{"Talks to rdmend, and checks and tests its files.", "rdmendctl"};
  Globals globals;
  int exit = fine;
  app.set_version_flag("--version", "rdmendctl " RDMEND_VERSION);
  app.add_option("--socket", globals.control_socket, "Control socket of the daemon")->envname("RDMEND_CONTROL_SOCKET")->capture_default_str();
  app.require_subcommand(1);
  for (const Row& row : kCommands) row.add(parent_of(app, row.group), globals, exit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    std::string what = unknown_command(app, {argv + 1, argv + argc});
    const CLI::App& at = innermost(app);
    if (what.empty()) what = e.what();
    fmt::print(stderr, "{}: {}\nsee '{} --help'\n", full_name(at), what, full_name(at));
    return usage;
  }
  return exit;
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
