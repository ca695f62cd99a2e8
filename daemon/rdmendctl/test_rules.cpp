// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "test_file.hpp"

namespace rdmend::ctl {
namespace {

// Words and streams as promtool has them, for the scripts that read them.
bool test_one(const std::string& file) {
  fmt::print("Unit Testing:  {}\n", file);
  std::vector<std::string> warnings, errors;
  if (const auto text = read_file(file); text) {
    Diagnostics diagnostics;
    const TestFile parsed = parse_test_file(file, *text, diagnostics);
    if (diagnostics.failed())
      errors = {std::string(trim(diagnostics.text()))};
    else
      errors = run_tests(parsed, warnings);
  } else {
    errors = {text.error().message};
  }
  std::fflush(stdout);
  for (const auto& line : warnings) fmt::print(stderr, "{}\n", line);
  if (errors.empty()) {
    fmt::print("  SUCCESS\n\n");
    return true;
  }
  fmt::print(stderr, "  FAILED:\n");
  for (const auto& error : errors) fmt::print(stderr, "{}\n", error);
  fmt::print("\n");
  return false;
}

}  // namespace

void add_test_rules(CLI::App& parent, const Globals&, int& exit) {
  auto* command = parent.add_subcommand("rules", "Run promtool's rule tests, and remedy_test with them");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "files of rule tests")->required();
  command->callback([files, &exit] {
    for (const auto& file : *files)
      if (!test_one(file)) exit = wrong;
  });
}

}  // namespace rdmend::ctl
