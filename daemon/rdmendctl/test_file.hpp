// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "model/labels.hpp"

// promtool's file of rule tests (its cmd/promtool/unittest.go), with `remedy_test` added.
namespace rdmend::ctl {

struct InputSeries {
  Labels labels;
  std::vector<std::optional<double>> values;
};
struct ExpectedAlert {
  Labels labels, annotations;
};
struct AlertTest {
  milliseconds eval_time{0};
  std::string alertname;
  std::vector<ExpectedAlert> expected;
};
struct ExpectedSample {
  Labels labels;
  double value = 0;
};
struct ExpressionTest {
  std::string expr;
  milliseconds eval_time{0};
  std::vector<ExpectedSample> expected;
};
struct ExpectedRemedy {
  std::string kind;
  std::optional<Labels> labels;  // of the alert, without alertname; not given: of any
  std::optional<std::vector<std::pair<std::string, std::string>>> params;
};
// The steps that have begun by eval_time for the alerts of that name: one when an alert fires, the next each
// `settle` that it goes on.
struct RemedyTest {
  milliseconds eval_time{0};
  std::string alertname;
  std::vector<ExpectedRemedy> expected;
};
struct TestGroup {
  std::string name;
  milliseconds interval{0};
  std::vector<InputSeries> series;
  std::vector<AlertTest> alerts;
  std::vector<ExpressionTest> expressions;
  std::vector<RemedyTest> remedies;
  Labels external_labels;
  std::string external_url;
};
struct TestFile {
  std::vector<std::string> rule_files;  // patterns, relative ones joined to the test file's directory
  milliseconds evaluation_interval{60'000};
  std::vector<std::string> group_eval_order;
  std::vector<TestGroup> tests;
};

TestFile parse_test_file(const std::string& file, const std::string& text, Diagnostics& diagnostics);

// Runs the tests of `parsed`; each failure is a text in promtool's form. `warnings` are lines for standard
// error.
std::vector<std::string> run_tests(const TestFile& parsed, std::vector<std::string>& warnings);

}  // namespace rdmend::ctl
