// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "model/decision.hpp"
#include "promql/promql.hpp"
#include "rules/template.hpp"

namespace rdmend::rules {

// One rule: alerting when `alert` is set, recording when `record` is.
struct Rule {
  std::string alert;
  std::string record;
  promql::Expression expression;
  milliseconds hold{0};            // `for`
  milliseconds keep_firing_for{0};
  std::vector<std::pair<std::string, Template>> labels;  // with the group's, sorted by name; literal on recording rules
  std::vector<std::pair<std::string, Template>> annotations;
  std::shared_ptr<const std::vector<RemedySpec>> remedy;  // null without one
  Position at;
};

struct Group {
  std::string name;
  std::string file;
  milliseconds interval{0};  // 0: the default of the configuration
  milliseconds query_offset{0};
  std::size_t limit = 0;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<Rule> rules;
  Position at;
};

// Parses and validates one rule file (Prometheus' format plus `remedy`). All faults of the file go to `diagnostics`, those
// of expressions and templates at their own line and column. The groups are usable only if none was an error: after
// one, a rule may have no expression.
std::vector<Group> parse_rule_file(const std::string& file, const std::string& text, Diagnostics& diagnostics);

// The same file without rdmend's own keys, as Prometheus loads it (`rdmendctl export rules`). The error is the file's faults,
// one line each.
Result<std::string> export_rule_file(const std::string& file, const std::string& text);

}  // namespace rdmend::rules
