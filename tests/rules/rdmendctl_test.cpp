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
  says("check rulez x",
       "rdmendctl check: unknown command 'rulez'; did you mean 'rules'?\nsee 'rdmendctl check --help'\n");
  const auto of = [&](const std::string& command, const std::string& arguments, const std::string& what) {
    says(command + " " + arguments,
         "rdmendctl " + command + ": " + what + "\nsee 'rdmendctl " + command + " --help'\n");
  };
  says("--socket x statsu",
       "rdmendctl: unknown command 'statsu'; did you mean 'status'?\nsee 'rdmendctl --help'\n");
  says("--socket=x statsu",
       "rdmendctl: unknown command 'statsu'; did you mean 'status'?\nsee 'rdmendctl --help'\n");
  says("--sockt x status",
       "rdmendctl status: unknown option '--sockt'; did you mean '--socket'?\nsee 'rdmendctl status "
       "--help'\n");
  says("--socket '' status",
       "rdmendctl status: --socket: the path is empty\nsee 'rdmendctl status --help'\n");
  says("--socket " + std::string(200, 'x') + " status",
       "rdmendctl status: --socket: the path has 200 bytes, that of a socket may have 107\nsee 'rdmendctl "
       "status --help'\n");
  says("",
       "rdmendctl: a command is missing; legal are: status, qps, alerts, remedies, history, events, query, explain, "
       "mode, undo, breaker, reload, "
       "check, test, export\nsee 'rdmendctl --help'\n");
  of("check", "", "a command is missing; legal are: config, rules");
  of("check config", "", "FILE is missing: the configuration, rdmend.yaml");
  of("check config", "a b", "'b' is one word too many; a value with blanks needs quotes");
  of("test rules", "", "FILE is missing: files of rule tests");
  of("status", "--jsn", "unknown option '--jsn'; did you mean '--json'?");
  of("status", "-x", "unknown option '-x'; legal are: --help, --json, --version, --socket");
  of("status", "mode act", "'mode' is one word too many; a value with blanks needs quotes");
  of("events", "--limit", "--limit needs a value");
  of("events", "--limit 0", "--limit: '0' is not a whole number, 1 to 1000");
  of("remedies", "--limit 1e3", "--limit: '1e3' is not a whole number, 1 to 1000");
  of("remedies", "--limit 1 --limit 2", "--limit may be given once only");
  of("query", "", "EXPR is missing: the expression, in quotes");
  of("explain", "", "ALERT is missing: the alert's name; 'rdmendctl alerts' lists those that are up");
  of("mode", "", "MODE is missing: observe or act");
  of("mode", "atc", "MODE: 'atc' is not known; did you mean 'act'?");
  of("mode", "act --for soon", "--for: 'soon' is not a duration like 30m or 1h");
  of("undo", "", "ID is missing: the action's number; 'rdmendctl remedies' lists them");
  of("undo", "-1", "ID: '-1' is not a whole number, 1 or more");
  of("undo", "x", "ID: 'x' is not a whole number, 1 or more");
  of("breaker", "rest", "reset: 'rest' is not known; did you mean 'reset'?");
  says("export rules a b",
       "rdmendctl export rules: several files would be one on standard output; give a directory with -o\n");
  CHECK(work.ctl("--version").status == 0);
  CHECK(work.ctl("check config --help").status == 0);
}

TEST_CASE("a daemon that cannot be reached is told with the reason, and ends with 3") {
  const Work work("unreachable");
  const auto says = [&](const std::string& socket, const std::string& why) {
    for (const std::string command :
         {"status", "reload --json", "breaker", "mode act --for 1h --json", "undo 7", "query up"}) {
      const auto result = work.ctl(command + " --socket " + socket);
      CHECK(result.status == 3);
      CHECK(result.output == "rdmendctl: cannot reach rdmend at " + socket + ": " + why + "\n");
    }
  };
  work.file("plain", "");
  says("none.sock",
       "No such file or directory; is it running? 'systemctl status rdmend' tells; another socket is given "
       "with --socket");
  says("plain", "it is not a socket; rdmend's is control_socket of rdmend.yaml, and is given with --socket");
  says(".", "it is not a socket; rdmend's is control_socket of rdmend.yaml, and is given with --socket");
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
        "bad.yaml:2:10: error: listen: 'x': the port is missing; write it like [::]:9879, 127.0.0.1:9879 or "
        "unix:/run/rdmend/http.sock\n");
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
  work.file("records.yaml",
            "groups: [{name: r, rules: [{record: x, expr: 'rate(rdma_rnr_naks_sent_total[1m])'}]}]\n");
  work.file("unknown.yaml",
            "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'increase(rdma_rnr_nak_sent_total[1m]) > 100 "
            "or ALERTS > 1'}\n  - {alert: B, expr: node_infiniband_symbol_error_counter_total > 0}\n");
  work.file("bad.yaml",
            "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: |\n      sum(x)\n        > rat(y[5m])\n   "
            " remedy:\n    - advice: {about: timeout}\n");
  auto result = work.ctl("check rules records.yaml good.yaml");
  CHECK(result.status == 0);
  CHECK(result.output == "records.yaml: good, 1 rule\ngood.yaml: good, 2 rules\n");
  result = work.ctl("check rules unknown.yaml");
  CHECK(result.status == 0);
  CHECK(result.output ==
        "unknown.yaml: good, 2 rules\n"
        "unknown.yaml:4:5: warning: the rule 'A' reads 'rdma_rnr_nak_sent_total', which rdmend does not "
        "have; did you mean 'rdma_rnr_naks_sent_total'?\n"
        "unknown.yaml:5:5: warning: the rule 'B' reads 'node_infiniband_symbol_error_counter_total', which "
        "rdmend does not have; its series are in config/reference/metrics.md\n");
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
  CHECK(work.run("mkdir out && " RDMENDCTL
                 " export rules -o out rules.yaml && promtool check rules out/rules.yaml >/dev/null")
            .status == 0);
  result = work.ctl("export rules bad.yaml");
  CHECK(result.status == 1);
  CHECK(result.output == "bad.yaml:1:28: error: the rule 'A' has no expr\n");
  CHECK(work.ctl("export rules -o nowhere rules.yaml").status == 1);
}

TEST_CASE("test rules: remedy_test says what would have begun") {
  const Work work("remedy_test");
  work.file("rules.yaml", kFile);
  const std::string head =
      "rule_files: [rules.yaml]\nevaluation_interval: 10s\ntests:\n- interval: 10s\n  input_series: "
      "[{series: 'x{a=\"1\"}', values: '0 0 4x20'}]\n  remedy_test:\n";
  work.file("good.yaml", head + R"(  - {eval_time: 10s, alertname: A, exp_remedies: []}
  - {eval_time: 20s, alertname: A, exp_remedies: [{kind: raise_min_rnr_timer, labels: {a: "1", severity: page}, params: {factor: 2}}]}
  - {eval_time: 50s, alertname: A, exp_remedies: [{kind: advise}, {kind: raise_min_rnr_timer}]}
)");
  work.file(
      "bad.yaml",
      head + R"(  - {eval_time: 20s, alertname: A, exp_remedies: [{kind: advise, params: {about: timeout}}]}
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
  work.file("rules.yaml",
            "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'rat(x[5m])'}\n  - {alert: B}\n");
  work.file("test.yaml", "rule_files: [rules.yaml]\ntests: [{interval: 1m}]\n");
  const auto result = work.ctl("test rules test.yaml");
  CHECK(result.status == 1);
  CHECK(result.output ==
        "Unit Testing:  test.yaml\n\n  FAILED:\nrules.yaml:4:23: error: unknown function 'rat'; did you mean "
        "'rate'?\nrules.yaml:5:5: error: the rule 'B' has no expr\n");
}
