// SPDX-License-Identifier: Apache-2.0
// Whole messages and exit codes of the commands that need no daemon.
#include <catch2/catch.hpp>

#include "work.hpp"

using rdmend::test::Work;

namespace {

constexpr const char* kFile = R"(groups:
- name: g
  rules:
  - {record: y, expr: x * 2}
  - alert: A
    expr: y > 5
    labels: {severity: page}
    annotations: {summary: "{{ $labels.a }} is {{ $value }}"}
    remedy:
    - raise_min_rnr_timer: {factor: 2}
    - advise: {about: receive_queue}
)";

}  // namespace

TEST_CASE("a command line that is wrong says what, and ends with 2") {
  const Work work("usage");
  const auto says = [&](const std::string& arguments, const std::string& what) {
    const auto result = work.ctl(arguments);
    CHECK(result.status == 2);
    CHECK(result.output == what);
  };
  says("chek", "rdmendctl: unknown command 'chek'; did you mean 'check'?\nsee 'rdmendctl --help'\n");
  says("check rulez x", "rdmendctl check: unknown command 'rulez'; did you mean 'rules'?\nsee 'rdmendctl check --help'\n");
  says("check", "rdmendctl check: A subcommand is required\nsee 'rdmendctl check --help'\n");
  says("check config", "rdmendctl check config: FILE is required\nsee 'rdmendctl check config --help'\n");
  says("check config a b", "rdmendctl check config: The following argument was not expected: b\nsee 'rdmendctl check config --help'\n");
  says("test rules", "rdmendctl test rules: FILE is required\nsee 'rdmendctl test rules --help'\n");
  says("export rules a b", "rdmendctl export rules: several files would be one on standard output; give a directory with -o\n");
  CHECK(work.ctl("--version").status == 0);
  CHECK(work.ctl("check config --help").status == 0);
}

TEST_CASE("check config") {
  const Work work("check_config");
  work.file("good.yaml", "mode: observe\n");
  work.file("bad.yaml", "mode: obsrve\nlisten: [x]\n");
  auto result = work.ctl("check config good.yaml");
  CHECK(result.status == 0);
  CHECK(result.output == "good.yaml: good\n");
  result = work.ctl("check config bad.yaml");
  CHECK(result.status == 1);
  CHECK(result.output ==
        "bad.yaml:1:7: error: mode: 'obsrve' is not known; did you mean 'observe'?\n"
        "bad.yaml:2:10: error: listen: 'x': the port is missing; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock\n");
  result = work.ctl("check config none.yaml");
  CHECK(result.status == 1);
  CHECK(result.output == "none.yaml: No such file or directory\n");
  result = work.run("echo 'mod: act' | " + std::string(RDMENDCTL) + " check config -");
  CHECK(result.status == 1);
  CHECK(result.output == "-:1:1: error: unknown key 'mod'; did you mean 'mode'?\n");
}

TEST_CASE("check rules, remedies too") {
  const Work work("check_rules");
  work.file("good.yaml", kFile);
  work.file("records.yaml", "groups: [{name: r, rules: [{record: x, expr: 'rate(rdma_rnr_naks_sent_total[1m])'}]}]\n");
  work.file("unknown.yaml", "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'increase(rdma_rnr_nak_sent_total[1m]) > 100 or ALERTS > 1'}\n  - {alert: B, expr: node_infiniband_symbol_error_counter_total > 0}\n");
  work.file("bad.yaml", "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: |\n      sum(x)\n        > rat(y[5m])\n    remedy:\n    - advice: {about: timeout}\n");
  auto result = work.ctl("check rules records.yaml good.yaml");
  CHECK(result.status == 0);
  CHECK(result.output == "records.yaml: good, 1 rule\ngood.yaml: good, 2 rules\n");
  result = work.ctl("check rules unknown.yaml");
  CHECK(result.status == 0);
  CHECK(result.output ==
        "unknown.yaml: good, 2 rules\n"
        "unknown.yaml:4:5: warning: the rule 'A' reads 'rdma_rnr_nak_sent_total', which rdmend does not have; did you mean 'rdma_rnr_naks_sent_total'?\n"
        "unknown.yaml:5:5: warning: the rule 'B' reads 'node_infiniband_symbol_error_counter_total', which rdmend does not have; its series are in config/reference/metrics.md\n");
  result = work.ctl("check rules records.yaml good.yaml bad.yaml none.yaml");
  CHECK(result.status == 1);
  CHECK(result.output ==
        "records.yaml: good, 1 rule\n"
        "good.yaml: good, 2 rules\n"
        "bad.yaml:7:11: error: unknown function 'rat'; did you mean 'rate'?\n"
        "bad.yaml:9:7: error: unknown remedy 'advice'; did you mean 'advise'?\n"
        "none.yaml: No such file or directory\n");
}

TEST_CASE("export rules, to standard output and to a directory") {
  const Work work("export_rules");
  work.file("rules.yaml", kFile);
  work.file("bad.yaml", "groups: [{name: g, rules: [{alert: A}]}]\n");
  auto result = work.ctl("export rules rules.yaml");
  CHECK(result.status == 0);
  CHECK(result.output == R"(groups:
  - name: g
    rules:
      - record: y
        expr: x * 2
      - alert: A
        expr: y > 5
        labels:
          severity: page
        annotations:
          summary: "{{ $labels.a }} is {{ $value }}"
)");
  CHECK(work.run("mkdir out && " RDMENDCTL " export rules -o out rules.yaml && promtool check rules out/rules.yaml >/dev/null").status == 0);
  result = work.ctl("export rules bad.yaml");
  CHECK(result.status == 1);
  CHECK(result.output == "bad.yaml:1:28: error: the rule 'A' has no expr\n");
  CHECK(work.ctl("export rules -o nowhere rules.yaml").status == 1);
}

TEST_CASE("test rules: remedy_test says what would have begun") {
  const Work work("remedy_test");
  work.file("rules.yaml", kFile);
  const std::string head = "rule_files: [rules.yaml]\nevaluation_interval: 10s\ntests:\n- interval: 10s\n  input_series: [{series: 'x{a=\"1\"}', values: '0 0 4x20'}]\n  remedy_test:\n";
  work.file("good.yaml", head + R"(  - {eval_time: 10s, alertname: A, exp_remedies: []}
  - {eval_time: 20s, alertname: A, exp_remedies: [{kind: raise_min_rnr_timer, labels: {a: "1", severity: page}, params: {factor: 2}}]}
  - {eval_time: 50s, alertname: A, exp_remedies: [{kind: advise}, {kind: raise_min_rnr_timer}]}
)");
  work.file("bad.yaml", head + R"(  - {eval_time: 20s, alertname: A, exp_remedies: [{kind: advise, params: {about: timeout}}]}
  - {eval_time: 50s, alertname: A, exp_remedies: [{kind: raise_min_rnr_timer, labels: {a: "2"}}]}
  - {eval_time: 50s, alertname: B, exp_remedies: [{kind: advise}]}
)");
  auto result = work.ctl("test rules good.yaml");
  CHECK(result.status == 0);
  CHECK(result.output == "Unit Testing:  good.yaml\n  SUCCESS\n\n");
  result = work.ctl("test rules bad.yaml");
  CHECK(result.status == 1);
  CHECK(result.output == R"(Unit Testing:  bad.yaml

  FAILED:
    remedies of: A, time: 20s,
        exp: [advise {about: timeout}]
        got: [raise_min_rnr_timer {factor: 2} for {a="1", severity="page"}]
    remedies of: A, time: 50s,
        exp: [raise_min_rnr_timer for {a="2"}]
        got: [raise_min_rnr_timer {factor: 2} for {a="1", severity="page"}; advise {about: receive_queue} for {a="1", severity="page"}]
    remedies of: B, time: 50s,
        exp: [advise]
        got: []
)");
}

TEST_CASE("test rules: every fault of a test file is told, each where it is") {
  const Work work("test_file_faults");
  work.file("bad.yaml", R"(rule_file: [x]
evaluation_interval: often
group_eval_order: [a, b, a]
tests:
- intervall: 1m
  input_series:
  - {series: 'x{a="1"', values: '1+1x'}
  - {series: '{a="1"}', values: '{{schema:0}}'}
  - {series: 'x', values: '1 2 stalex3'}
  - {series: 'y', values: '1x9999999999'}
  - {series: 'y', values: '1'}
  - {values: '1'}
  alert_rule_test:
  - {eval_time: 1m}
  promql_expr_test:
  - {eval_time: 1m, exp_samples: [{labels: 'x{', value: much}]}
  remedy_test:
  - {alertname: A, exp_remedies: [{knd: advise}]}
)");
  const auto result = work.ctl("test rules bad.yaml");
  CHECK(result.status == 1);
  CHECK(result.output == R"(Unit Testing:  bad.yaml

  FAILED:
bad.yaml:1:1: error: unknown key 'rule_file'; did you mean 'rule_files'?
bad.yaml:2:22: error: evaluation_interval: 'often' is not a duration; a duration is written like 250ms, 30s or 1h30m
bad.yaml:3:26: error: group name repeated in evaluation order: a
bad.yaml:5:3: error: unknown key 'intervall'; did you mean 'interval'?
bad.yaml:7:14: error: series: 'x{a="1"': ',' or '}' is expected at character 8
bad.yaml:7:33: error: values: '1+1x' is not a value; legal are: 5, 5x3, 0+10x5, 100-5x4, _, _x3, stale, NaN, Inf
bad.yaml:8:14: error: series: the metric has no name
bad.yaml:8:33: error: values: '{{schema:0}}': histograms are not in rdmend
bad.yaml:9:27: error: values: 'stalex3' is not a value; legal are: 5, 5x3, 0+10x5, 100-5x4, _, _x3, stale, NaN, Inf
bad.yaml:10:27: error: values: '1x9999999999' is not a value; legal are: 5, 5x3, 0+10x5, 100-5x4, _, _x3, stale, NaN, Inf
bad.yaml:11:5: error: the series y is given twice
bad.yaml:12:5: error: series is missing
bad.yaml:14:5: error: an item under alert_rule_test misses required attribute alertname at eval_time 1m
bad.yaml:16:44: error: labels: 'x{': a label name or '}' is expected at character 3
bad.yaml:16:57: error: value: 'much' is not a number; legal are: 1.5, 1e3, .nan, .inf, -.inf
bad.yaml:16:5: error: expr is missing
bad.yaml:18:36: error: unknown key 'knd'; did you mean 'kind'?
bad.yaml:18:35: error: kind is missing
)");
}

TEST_CASE("test rules: a rule file with faults fails its test with all of them") {
  const Work work("rule_faults");
  work.file("rules.yaml", "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'rat(x[5m])'}\n  - {alert: B}\n");
  work.file("test.yaml", "rule_files: [rules.yaml]\ntests: [{interval: 1m}]\n");
  const auto result = work.ctl("test rules test.yaml");
  CHECK(result.status == 1);
  CHECK(result.output ==
        "Unit Testing:  test.yaml\n\n  FAILED:\nrules.yaml:4:23: error: unknown function 'rat'; did you mean 'rate'?\nrules.yaml:5:5: error: the rule 'B' has no expr\n");
}
