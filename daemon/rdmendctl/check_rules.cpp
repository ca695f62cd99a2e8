// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <vector>

#include "command.hpp"
#include "remedies/remedy.hpp"
#include "rules/rule_file.hpp"

namespace rdmend::ctl {
namespace {

// Kinds and parameters of remedies are judged by the room that runs them, the rest by the rules' own.
void check_remedies(const rules::Group& group, Diagnostics& diagnostics) {
  for (const auto& rule : group.rules)
    if (rule.remedy)
      for (const auto& step : *rule.remedy) remedies::compile(step, diagnostics);
}

bool check_one(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    fmt::print(stderr, "{}\n", text.error().message);
    return false;
  }
  Diagnostics diagnostics;
  const auto groups = rules::parse_rule_file(file, *text, diagnostics);
  std::size_t count = 0;
  for (const auto& group : groups) {
    count += group.rules.size();
    check_remedies(group, diagnostics);
  }
  fmt::print(stderr, "{}", diagnostics.text());
  if (!diagnostics.failed()) fmt::print("{}: good, {} rule{}\n", file, count, count == 1 ? "" : "s");
  return !diagnostics.failed();
}

}  // namespace

void add_check_rules(CLI::App& parent, const Globals&, int& exit) {
  auto* command = parent.add_subcommand("rules", "Check rule files: every fault, with its place");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "rule files")->required();
  command->callback([files, &exit] {
    for (const auto& file : *files)
      if (!check_one(file)) exit = wrong;
  });
}

}  // namespace rdmend::ctl
