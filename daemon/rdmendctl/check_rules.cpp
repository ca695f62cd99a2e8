// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <vector>

#include "command.hpp"
#include "metrics/unknown_series.hpp"
#include "remedies/remedy.hpp"
#include "rules/rule_file.hpp"

namespace rdmend::ctl {
namespace {

struct Checked {
  std::string file;
  std::string unreadable;
  std::vector<rules::Group> groups;
  Diagnostics diagnostics;
};

Checked parse(const std::string& file) {
  Checked out{file, {}, {}, {}};
  const auto text = read_file(file);
  if (!text)
    out.unreadable = text.error().message;
  else
    out.groups = rules::parse_rule_file(file, *text, out.diagnostics);
  return out;
}

// Kinds and parameters of remedies are judged by the room that runs them.
void check_remedies(Checked& checked) {
  for (const auto& group : checked.groups)
    for (const auto& rule : group.rules)
      if (rule.remedy)
        for (const auto& step : *rule.remedy) remedies::compile(step, checked.diagnostics);
}

bool report(const Checked& checked) {
  if (!checked.unreadable.empty()) {
    fmt::print(stderr, "{}\n", checked.unreadable);
    return false;
  }
  fmt::print(stderr, "{}", checked.diagnostics.text());
  if (checked.diagnostics.failed()) return false;
  std::size_t count = 0;
  for (const auto& group : checked.groups) count += group.rules.size();
  fmt::print("{}: good, {} rule{}\n", checked.file, count, count == 1 ? "" : "s");
  return true;
}

int check_rules(const std::vector<std::string>& paths) {
  std::vector<Checked> files;
  files.reserve(paths.size());
  for (const auto& path : paths) files.push_back(parse(path));
  metrics::SeriesNames names;
  for (const auto& file : files) names.add_records(file.groups);
  int exit = fine;
  for (auto& file : files) {
    if (!file.diagnostics.failed()) names.warn_of_unknown(file.groups, file.diagnostics);
    check_remedies(file);
    if (!report(file)) exit = wrong;
  }
  return exit;
}

}  // namespace

void add_check_rules(CLI::App& parent, const Globals&, int& exit) {
  auto* command = parent.add_subcommand("rules", "Check rule files: every fault, with its place");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("FILE", *files, "rule files")->required();
  command->callback([files, &exit] { exit = check_rules(*files); });
}

}  // namespace rdmend::ctl
