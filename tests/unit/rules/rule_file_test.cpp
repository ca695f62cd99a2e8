// SPDX-License-Identifier: Apache-2.0
#include "rules/rule_file.hpp"

#include <catch2/catch.hpp>

#include "support/command.hpp"

using namespace rdmend;
using rules::Group;

namespace {

std::string file_faults(const std::string& text) {
  Diagnostics diagnostics;
  rules::parse_rule_file("r.yaml", text, diagnostics);
  return diagnostics.text();
}

std::vector<Group> good(const std::string& text) {
  Diagnostics diagnostics;
  auto groups = rules::parse_rule_file("r.yaml", text, diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.all().empty());
  return groups;
}

std::string exported(const std::string& text) {
  const auto out = rules::export_rule_file("r.yaml", text);
  INFO((out ? "" : out.error().message));
  REQUIRE(out);
  return *out;
}

constexpr const char* kDesign = R"(groups:
- name: receiver-not-ready
  interval: 1s
  query_offset: 2s
  limit: 20
  labels: {team: fabric}
  rules:
  - alert: RdmaRnrNakStorm
    expr: increase(rdma_rnr_naks_sent_total[1m]) > 100
    for: 5s
    keep_firing_for: 1m
    labels: {severity: warning}
    annotations:
      summary: "{{ $labels.device }}/{{ $labels.port }} sent {{ $value | humanize }} RNR NAKs in a minute"
    remedy:
    - raise_min_rnr_timer: {factor: 4, ceiling: 10ms}   # the responder's own knob, live
    - run_hook: {argv: [/bin/echo, "a b"]}
    - advise
  - record: port:retransmissions:ratio
    expr: |
      rate(rdma_retransmissions_total[1m]) / rate(rdma_packets_sent_total[1m])
    labels: {kind: "{{ not a template }}", team: other}
)";

}  // namespace

TEST_CASE("a rule file with everything in it") {
  const auto groups = good(kDesign);
  REQUIRE(groups.size() == 1);
  const Group& group = groups[0];
  CHECK(group.name == "receiver-not-ready");
  CHECK(group.file == "r.yaml");
  CHECK(group.interval == milliseconds{1000});
  CHECK(group.query_offset == milliseconds{2000});
  CHECK(group.limit == 20);
  REQUIRE(group.rules.size() == 2);

  const auto& alert = group.rules[0];
  CHECK(alert.alert == "RdmaRnrNakStorm");
  CHECK(alert.hold == milliseconds{5000});
  CHECK(alert.keep_firing_for == milliseconds{60'000});
  CHECK(alert.expression.text() == "increase(rdma_rnr_naks_sent_total[1m]) > 100");
  REQUIRE(alert.labels.size() == 2);  // the group's own is among them
  CHECK(alert.labels[0].first == "severity");
  CHECK(alert.labels[1].first == "team");
  REQUIRE(alert.annotations.size() == 1);
  REQUIRE(alert.remedy);
  REQUIRE(alert.remedy->size() == 3);
  const auto& step = alert.remedy->at(0);
  CHECK(step.kind == "raise_min_rnr_timer");
  CHECK(step.file == "r.yaml");
  CHECK(step.at == Position{16, 7});
  REQUIRE(step.params.size() == 2);
  CHECK(step.params[0].name == "factor");
  CHECK(step.params[0].values == std::vector<std::string>{"4"});
  CHECK(step.params[1].at == Position{16, 40});
  CHECK(step.params[1].value_at == Position{16, 49});
  CHECK(alert.remedy->at(1).params[0].is_list);
  CHECK(alert.remedy->at(1).params[0].values == std::vector<std::string>{"/bin/echo", "a b"});
  CHECK(alert.remedy->at(2).kind == "advise");
  CHECK(alert.remedy->at(2).params.empty());

  const auto& record = group.rules[1];
  CHECK(record.record == "port:retransmissions:ratio");
  CHECK(record.labels[0].second.text() == "{{ not a template }}");
  CHECK(record.labels[1].second.text() == "other");  // stronger than the group's
}

TEST_CASE("an empty file, or one without groups, has none") {
  CHECK(good("").empty());
  CHECK(good("groups:\n").empty());
  CHECK(good("groups: [{name: g}]")[0].rules.empty());
}

TEST_CASE("G4: every fault of a file, unknown keys among them, is told, each where it is") {
  CHECK(file_faults(R"(group: []
groups:
- nam: x
- name: ""
  interval: 5ms
  limit: -1
  labels: {"a-b": c, __name__: d}
- name: g
  interval: 1 s
  rules:
  - alert: A
    record: b
    expr: up
  - expr: rat(up[5m])
  - alert: ""
    expr: up
  - record: "b-c"
    expr: up
    for: 1s
    annotations: {summary: x}
    remedy: [advise]
  - alert: C
  - alert: D
    exprr: up
    expr: up
    for: soon
    labels: {__name__: x, "1a": y, ok: [z]}
    annotations: {summary: "{{ $lables.x }}"}
    remedy: {advise: {}}
  - alert: E
    expr: up[5m]
  - alert: F
    expr: '"text"'
  - alert: G
    expr: " "
    remedy: [[x], {a: 1, b: 2}, {advise: {about: {x: y}}}]
- name: g
)") == R"(r.yaml:1:1: error: unknown key 'group'; did you mean 'groups'?
r.yaml:3:3: error: unknown key 'nam'; did you mean 'name'?
r.yaml:3:3: error: the group has no name
r.yaml:4:9: error: the group's name is empty
r.yaml:5:13: error: interval: 5ms is out of range; legal is 10ms to 100y
r.yaml:6:10: error: limit: '-1' is not a whole number
r.yaml:7:12: error: labels: 'a-b' is not a legal name; letters, digits and '_', not beginning with a digit
r.yaml:7:22: error: labels: '__name__' is not a legal name; letters, digits and '_', not beginning with a digit
r.yaml:9:13: error: interval: '1 s' is not a duration; a duration is written like 250ms, 30s or 1h30m
r.yaml:11:5: error: a rule has 'alert' or 'record'; this has both
r.yaml:14:5: error: a rule has 'alert' or 'record'; this has neither
r.yaml:14:11: error: unknown function 'rat'; did you mean 'rate'?
r.yaml:15:12: error: the alert's name is empty
r.yaml:17:13: error: 'b-c' is not a metric name; letters, digits, '_' and ':', not beginning with a digit
r.yaml:19:5: error: 'for' on a recording rule; only alerting rules have it
r.yaml:20:5: error: 'annotations' on a recording rule; only alerting rules have it
r.yaml:21:5: error: 'remedy' on a recording rule; only alerting rules have it
r.yaml:22:5: error: the rule 'C' has no expr
r.yaml:24:5: error: unknown key 'exprr'; did you mean 'expr'?
r.yaml:27:14: error: labels: '__name__' is not a legal name; letters, digits and '_', not beginning with a digit
r.yaml:27:27: error: labels: '1a' is not a legal name; letters, digits and '_', not beginning with a digit
r.yaml:27:40: error: labels.ok: expected a single value, found a list
r.yaml:26:10: error: for: 'soon' is not a duration; a duration is written like 250ms, 30s or 1h30m
r.yaml:28:32: error: unknown variable '$lables'; did you mean '$labels'?
r.yaml:29:13: error: remedy: expected a list of steps, found a map; a step is written like - raise_min_rnr_timer: {factor: 4, ceiling: 10ms}
r.yaml:31:11: error: the expression gives a range of samples; a rule's expression gives a number for each series, or one number
r.yaml:33:11: error: the expression gives a text; a rule's expression gives a number for each series, or one number
r.yaml:35:11: error: expr is empty
r.yaml:36:14: error: remedy: a step is a kind with its parameters, not a list; a step is written like - raise_min_rnr_timer: {factor: 4, ceiling: 10ms}
r.yaml:36:19: error: remedy: a step names one kind, this has 2 keys; a step is written like - raise_min_rnr_timer: {factor: 4, ceiling: 10ms}
r.yaml:36:50: error: advise.about: expected a single value, found a map
r.yaml:37:9: error: a second group 'g'; the first is at line 8
)");
}

TEST_CASE("a fault of an expression is told at its own character, whatever the scalar's style") {
  const auto at = [](const std::string& expr_lines) {
    const std::string text = file_faults("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: " + expr_lines + "\n    for: 1s\n");
    return text.substr(0, text.find(": error"));
  };
  CHECK(at("sum(rat(x[5m]))") == "r.yaml:5:15");
  CHECK(at("'sum(rat(x[5m]))'") == "r.yaml:5:16");
  CHECK(at("\"sum(rat(x{a=\\\"b\\\"}[5m]))\"") == "r.yaml:5:16");
  CHECK(at("x{a=\"b\"} > rat(x[5m])") == "r.yaml:5:22");
  CHECK(at("|\n      x > 1\n        and rat(x[5m])") == "r.yaml:7:13");
  CHECK(at("|-\n      x > 1\n\n      and rat(x[5m])") == "r.yaml:8:11");
  CHECK(at(">\n      x > 1\n      and rat(x[5m])") == "r.yaml:7:11");
  CHECK(at(">-\n      x > 1\n\n        and\n      rat(x[5m])") == "r.yaml:9:7");
  CHECK(at("x > 1\n      and rat(x[5m])") == "r.yaml:6:11");
  CHECK(at("'x{a=''b''} >\n      rat(x[5m])'") == "r.yaml:6:7");
}

TEST_CASE("a fault of a template is told at its own character") {
  CHECK(file_faults("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: up\n    annotations:\n      summary: \"a \\\"b\\\" {{ humanise $value }}\"\n      description: |\n        one\n        two {{ query \"x\" }}\n") ==
        "r.yaml:7:28: error: unknown function 'humanise'; did you mean 'humanize'?\n"
        "r.yaml:10:16: error: function 'query' is not in rdmend's part of the template language\n");
  CHECK(file_faults("groups:\n- name: g\n  labels: {x: '{{ nope }}'}\n  rules:\n  - {alert: A, expr: up}\n  - {alert: B, expr: up}\n").starts_with("r.yaml:3:19: error: unknown function 'nope'"));
}

TEST_CASE("two rules of one name and the same labels are a warning") {
  CHECK(file_faults("groups:\n- name: g\n  rules:\n  - {alert: A, expr: up}\n  - {alert: A, expr: up, labels: {a: b}}\n  - {alert: A, expr: down}\n") ==
        "r.yaml:6:5: warning: a second rule 'A' with the same labels; the first is at line 4\n");
}

TEST_CASE("an exported file is the same one without remedies") {
  const std::string out = exported(kDesign);
  CHECK(out.find("remedy") == std::string::npos);
  CHECK(out == R"(groups:
  - name: receiver-not-ready
    interval: 1s
    query_offset: 2s
    limit: 20
    labels:
      team: fabric
    rules:
      - alert: RdmaRnrNakStorm
        expr: increase(rdma_rnr_naks_sent_total[1m]) > 100
        for: 5s
        keep_firing_for: 1m
        labels:
          severity: warning
        annotations:
          summary: "{{ $labels.device }}/{{ $labels.port }} sent {{ $value | humanize }} RNR NAKs in a minute"
      - record: port:retransmissions:ratio
        expr: "rate(rdma_retransmissions_total[1m]) / rate(rdma_packets_sent_total[1m])\n"
        labels:
          kind: "{{ not a template }}"
          team: other
)");
  // What is exported is what rdmend itself reads without the remedies.
  const auto before = good(kDesign), after = good(out);
  CHECK(after[0].rules[0].expression.text() == before[0].rules[0].expression.text());
  CHECK(after[0].rules[0].annotations[0].second.text() == before[0].rules[0].annotations[0].second.text());
  CHECK(after[0].rules[0].remedy == nullptr);
  CHECK_FALSE(rules::export_rule_file("r.yaml", "groups: [{name: g, rules: [{alert: A}]}]"));
}

TEST_CASE("Prometheus loads what is exported") {
  const std::string path = std::string(RDMEND_BINARY_DIR) + "/exported_rules.yaml";
  test::write_file(path, exported(R"(groups:
- name: g
  interval: 1s
  limit: 5
  rules:
  - alert: A
    expr: |
      x{a="b\\c"} > 1
        and y > 2
    for: 0s
    keep_firing_for: 1m
    labels: {severity: "1", on: "true", n: "null"}
    annotations:
      summary: "two\nlines: {{ $value }} \"quoted\" # no comment"
      description: >
        folded
        text

        second
      odd: "  leading, trailing  "
      "null": '~'
    remedy:
    - advise: {about: timeout}
  - &r
    record: a:b
    expr: 1
  - <<: *r
    record: c:d
    labels: {x: ''}
)"));
  const auto judged = test::run_command("promtool check rules " + path + " 2>&1");
  INFO(judged.output);
  CHECK(judged.status == 0);
  CHECK(judged.output.find("SUCCESS: 3 rules found") != std::string::npos);
}

TEST_CASE("random bytes and cut files never do harm") {
  const std::string whole = kDesign;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) file_faults(whole.substr(0, cut));
  std::uint32_t seed = 3;
  for (int round = 0; round < 1000; ++round) {
    std::string bent = whole;
    for (int i = 0; i < 4; ++i) {
      seed = seed * 1664525 + 1013904223;
      bent[(seed >> 8U) % bent.size()] = static_cast<char>(0x20 + (seed >> 24U) % 0x5f);
    }
    file_faults(bent);
    if (const auto out = rules::export_rule_file("r.yaml", bent)) CHECK(file_faults(*out).find("error") == std::string::npos);
  }
}
