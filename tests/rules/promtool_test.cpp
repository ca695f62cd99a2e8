// SPDX-License-Identifier: Apache-2.0
// The same files to `promtool test rules` and to `rdmendctl test rules`: the same words and the same exit code.
#include <catch2/catch.hpp>

#include "work.hpp"

using rdmend::test::Work;

namespace {

void agree(const std::string& name, const std::string& rules, const std::string& tests, int status) {
  INFO(name);
  const Work work("promtool_" + name);
  work.file("rules.yaml", rules);
  work.file("test.yaml", tests);
  const auto judge = work.run("promtool test rules test.yaml");
  const auto ours = work.ctl("test rules test.yaml");
  CHECK(judge.status == status);
  CHECK(ours.status == judge.status);
  // promtool leaves an empty line a failure, and its streams are joined in another order: words are compared, not blank lines.
  const auto words = [](std::string text) {
    for (auto at = text.find("\n\n"); at != std::string::npos; at = text.find("\n\n", at)) text.erase(at, 1);
    return text;
  };
  CHECK(words(ours.output) == words(judge.output));
}

constexpr const char* kRules = R"(groups:
- name: first
  rules:
  - {record: y, expr: x * 2}
  - {record: z, expr: y + 1, labels: {kind: sum}}
  - {alert: Now, expr: y > 5, labels: {severity: page}, annotations: {summary: "{{ $labels.a }} is {{ $value }}"}}
  - {alert: Later, expr: y > 5, for: 2m}
  - {alert: Keeps, expr: y > 5, keep_firing_for: 3m}
- name: second
  interval: 7m
  rules:
  - {record: seen, expr: 'count(ALERTS) by (alertname, alertstate)'}
  - {record: since, expr: ALERTS_FOR_STATE}
)";

}  // namespace

TEST_CASE("promtool and rdmendctl agree on tests that pass") {
  agree("passing", kRules, R"(rule_files: [rules.yaml]
evaluation_interval: 1m
group_eval_order: [first, second]
tests:
- interval: 1m
  name: all of it
  input_series:
  - {series: 'x{a="1"}', values: '1+1x4 4-1x4 _x3 7 stale 7'}
  - {series: 'x{a="2"}', values: '0x2 3 _ 5 stale'}
  alert_rule_test:
  - {eval_time: 1m, alertname: Now}
  - {eval_time: 2m, alertname: Now, exp_alerts: [{exp_labels: {a: "1", severity: page}, exp_annotations: {summary: 1 is 6}}]}
  - {eval_time: 3m30s, alertname: Later, exp_alerts: []}
  - {eval_time: 4m, alertname: Later, exp_alerts: [{exp_labels: {a: "1"}}]}
  - {eval_time: 6m, alertname: Keeps, exp_alerts: [{exp_labels: {a: "1"}}, {exp_labels: {a: "2"}}]}
  promql_expr_test:
  - {expr: y, eval_time: 2m, exp_samples: [{labels: 'y{a="1"}', value: 6}, {labels: 'y{a="2"}', value: 0}]}
  - {expr: 'z{a="1"}', eval_time: 4m, exp_samples: [{labels: 'z{a="1",kind="sum"}', value: 11}]}
  - {expr: 'x{a="1"}', eval_time: 12m, exp_samples: [{labels: 'x{a="1"}', value: 0}]}
  - {expr: x, eval_time: 14m}
  - {expr: 'y{a="1"}', eval_time: 15m, exp_samples: [{labels: 'y{a="1"}', value: 14}]}
  - {expr: seen, eval_time: 2m, exp_samples: [{labels: 'seen{alertname="Now",alertstate="firing"}', value: 1}, {labels: 'seen{alertname="Keeps",alertstate="firing"}', value: 1}, {labels: 'seen{alertname="Later",alertstate="pending"}', value: 1}]}
  - {expr: 'since{alertname="Later"}', eval_time: 4m, exp_samples: [{labels: 'since{a="1",alertname="Later"}', value: 120}, {labels: 'since{a="2",alertname="Later"}', value: 180}]}
  - {expr: 1 + 1, eval_time: 0m, exp_samples: [{value: 2}]}
  - {expr: vector(3), eval_time: 1m, exp_samples: [{labels: '{}', value: 3}]}
  - {expr: 'sum_over_time(x[2m30s:30s])', eval_time: 1m, exp_samples: [{labels: '{a="1"}', value: 4}, {labels: '{a="2"}', value: 0}]}
- interval: 30s
  input_series: [{series: 'x{a="3"}', values: '1e3 .5 -2 +3 Inf -Inf 5x2 1-.5x2'}]
  promql_expr_test:
  - {expr: x, eval_time: 0s, exp_samples: [{labels: 'x{a="3"}', value: 1000}]}
  - {expr: x, eval_time: 30s, exp_samples: [{labels: 'x{a="3"}', value: 0.5}]}
  - {expr: x, eval_time: 1m, exp_samples: [{labels: 'x{a="3"}', value: -2}]}
  - {expr: x, eval_time: 2m, exp_samples: [{labels: 'x{a="3"}', value: .inf}]}
  - {expr: x, eval_time: 2m30s, exp_samples: [{labels: 'x{a="3"}', value: -.inf}]}
  - {expr: x, eval_time: 4m, exp_samples: [{labels: 'x{a="3"}', value: 5}]}
  - {expr: x, eval_time: 5m30s, exp_samples: [{labels: 'x{a="3"}', value: 0.5}]}  # samples are loaded up to the last evaluation
)", 0);
}

TEST_CASE("promtool and rdmendctl agree on tests that fail, word for word") {
  agree("failing", kRules, R"(rule_files: [rules.yaml, none-*.yaml]
tests:
- interval: 1m
  name: wrong expectations
  input_series: [{series: 'x{a="1"}', values: '1+1x10'}, {series: 'x{a="2"}', values: '4x10'}]
  alert_rule_test:
  - {eval_time: 5m, alertname: Now}
  - {eval_time: 1m, alertname: Now, exp_alerts: [{exp_labels: {a: "1"}}, {exp_labels: {a: "0", b: "x y"}, exp_annotations: {text: "say \"no\""}}]}
  - {eval_time: 3m, alertname: Unknown, exp_alerts: [{}]}
  promql_expr_test:
  - {expr: y, eval_time: 3m, exp_samples: [{labels: 'y{a="1"}', value: 7}]}
  - {expr: y, eval_time: 3m}
  - {expr: '"abc"', eval_time: 3m}
  - {expr: 'x[5m]', eval_time: 3m}
  - {expr: '0 / 0', eval_time: 90s, exp_samples: [{value: .nan}]}
  - {expr: 'x{a="1"} / 3', eval_time: 1h, exp_samples: [{labels: 'x{a="1"}', value: 1}]}
- interval: 1m
  input_series: [{series: x, values: '1 2'}]
  promql_expr_test: [{expr: x, eval_time: 30s, exp_samples: [{labels: x, value: 2}]}]
)", 1);
}

TEST_CASE("promtool and rdmendctl agree on rules that fail when they run") {
  const std::string test = "rule_files: [rules.yaml]\ntests:\n- interval: 1m\n  input_series: [{series: 'x{a=\"1\"}', values: '1x3'}, {series: 'x{a=\"2\"}', values: '_ _ 1'}]\n  alert_rule_test: [{eval_time: 3m, alertname: A}]\n";
  agree("duplicate", "groups: [{name: g, rules: [{alert: A, expr: x, labels: {a: b}}]}]\n", test, 1);
  agree("duplicate_record", "groups: [{name: g, rules: [{record: r, expr: x, labels: {a: b}}]}]\n", test, 1);
  agree("limit", "groups: [{name: g, limit: 1, rules: [{alert: A, expr: x}, {record: r, expr: x}]}]\n", test, 1);
}

TEST_CASE("promtool and rdmendctl agree that a test without rules, or of no length, succeeds") {
  agree("no_rules", "", "rule_files: [nothing.yaml]\ntests: [{interval: 1m, input_series: [{series: x, values: '1'}]}]\n", 0);
  agree("no_tests", kRules, "rule_files: [rules.yaml]\n", 0);
}
