// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <set>
#include <vector>

#include "base/text.hpp"
#include "command.hpp"
#include "metrics/exposition.hpp"
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

// The names that the rules' selectors may ask for: rdmend's own series, what the files record, and the alerts' own.
std::set<std::string, std::less<>> known_series(const std::vector<Checked>& files) {
  std::set<std::string, std::less<>> names{"ALERTS", "ALERTS_FOR_STATE"};
  for (const auto& family : metrics::families()) {
    names.emplace(family.name);
    if (family.type != metrics::FamilyType::summary) continue;
    names.insert(std::string(family.name) + "_sum");
    names.insert(std::string(family.name) + "_count");
  }
  for (const auto& file : files)
    for (const auto& group : file.groups)
      for (const auto& rule : group.rules)
        if (!rule.record.empty()) names.insert(rule.record);
  return names;
}

// A rule on a misspelt name is legal and never fires: the least that can be done is to say so.
void warn_of_unknown(Checked& checked, const std::set<std::string, std::less<>>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const auto& group : checked.groups)
    for (const auto& rule : group.rules)
      for (const auto& selector : rule.expression.selectors())
        for (const auto& matcher : selector) {
          if (matcher.name() != kMetricName || matcher.op() != store::Matcher::Op::equal || known.contains(matcher.value())) continue;
          const auto near = nearest(matcher.value(), names);
          checked.diagnostics.warning(checked.file, rule.at, fmt::format("the rule '{}' reads '{}', which rdmend does not have", printable(rule.alert.empty() ? rule.record : rule.alert, 64), printable(matcher.value(), 64)),
                                      near.empty() ? "its series are in config/reference/metrics.md" : fmt::format("did you mean '{}'?", near));
        }
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
  for (const auto& path : paths) files.push_back(parse(path));
  const auto known = known_series(files);
  int exit = fine;
  for (auto& file : files) {
    if (!file.diagnostics.failed()) warn_of_unknown(file, known);
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
