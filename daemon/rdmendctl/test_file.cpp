// SPDX-License-Identifier: Apache-2.0
#include "test_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "series_notation.hpp"
#include "yaml/reader.hpp"

namespace rdmend::ctl {
namespace {

using yaml::Entry;
using yaml::Node;

class TestFileParser {
 public:
  TestFileParser(const std::string& file, Diagnostics& diagnostics) : reader_(file, diagnostics) {}

  TestFile run(const Node& root) {
    reader_.map(root, "a test file",
                {{"rule_files", [&](const Entry& e) { rule_files(e.value); }},
                 {"evaluation_interval",
                  [&](const Entry& e) {
                    const auto given = duration(e.value, "evaluation_interval");
                    if (given.count() > 0) file_.evaluation_interval = given;
                  }},
                 {"group_eval_order", [&](const Entry& e) { order(e.value); }},
                 {"tests", [&](const Entry& e) {
                    reader_.list(e.value, "tests", [&](const Node& n) { group(n); });
                  }}});
    for (TestGroup& group : file_.tests)
      if (group.interval.count() == 0) group.interval = file_.evaluation_interval;
    return std::move(file_);
  }

 private:
  milliseconds duration(const Node& node, std::string_view name) {
    return reader_.duration(node, name).value_or(milliseconds{0});
  }

  void rule_files(const Node& node) {
    const auto slash = reader_.file().rfind('/');
    const std::string directory = slash == std::string::npos ? "" : reader_.file().substr(0, slash + 1);
    for (auto& one : reader_.texts(node, "rule_files").value_or(std::vector<std::string>{}))
      file_.rule_files.push_back(one.starts_with('/') ? one : directory + one);
  }

  void order(const Node& node) {
    for (const Node& item : node.items) {
      const auto name = reader_.text(item, "group_eval_order");
      if (!name) continue;
      auto& order = file_.group_eval_order;
      if (std::find(order.begin(), order.end(), *name) != order.end())
        reader_.error(item.at,
                      fmt::format("group name repeated in evaluation order: {}", printable(*name, 64)));
      order.push_back(*name);
    }
  }

  void group(const Node& node) {
    TestGroup group;
    reader_.map(
        node, "a test",
        {{"name", [&](const Entry& e) { group.name = reader_.text(e.value, "name").value_or(""); }},
         {"interval", [&](const Entry& e) { group.interval = duration(e.value, "interval"); }},
         {"input_series",
          [&](const Entry& e) {
            reader_.list(e.value, "input_series", [&](const Node& n) { series(n, group); });
          }},
         {"alert_rule_test",
          [&](const Entry& e) {
            reader_.list(e.value, "alert_rule_test", [&](const Node& n) { alert_test(n, group); });
          }},
         {"promql_expr_test",
          [&](const Entry& e) {
            reader_.list(e.value, "promql_expr_test", [&](const Node& n) { expression_test(n, group); });
          }},
         {"remedy_test",
          [&](const Entry& e) {
            reader_.list(e.value, "remedy_test", [&](const Node& n) { remedy_test(n, group); });
          }},
         {"external_labels",
          [&](const Entry& e) { group.external_labels = labels(e.value, "external_labels"); }},
         {"external_url",
          [&](const Entry& e) { group.external_url = reader_.text(e.value, "external_url").value_or(""); }}});
    file_.tests.push_back(std::move(group));
  }

  Labels labels(const Node& node, std::string_view name) {
    Labels out;
    reader_.each(node, name, [&](const Entry& e) {
      if (e.value.kind == Node::Kind::null) return;  // an empty label is no label
      if (const auto value = reader_.text(e.value, fmt::format("{}.{}", name, e.key))) out.set(e.key, *value);
    });
    return out;
  }

  void series(const Node& node, TestGroup& group) {
    InputSeries out;
    bool named = false;
    reader_.map(node, "a series",
                {{"series",
                  [&](const Entry& e) {
                    const auto text = reader_.text(e.value, "series");
                    named = true;
                    if (!text) return;
                    auto parsed = parse_series(*text);
                    if (!parsed) return reader_.error(e.value.at, "series: " + parsed.error().message);
                    if (parsed->metric().empty()) reader_.error(e.value.at, "series: the metric has no name");
                    out.labels = std::move(*parsed);
                  }},
                 {"values", [&](const Entry& e) {
                    const auto text = reader_.text(e.value, "values");
                    if (!text) return;
                    auto parsed = parse_values(*text);
                    if (!parsed) return reader_.error(e.value.at, "values: " + parsed.error().message);
                    out.values = std::move(*parsed);
                  }}});
    if (node.kind == Node::Kind::map && !named) reader_.error(node.at, "series is missing");
    const auto same = [&](const InputSeries& other) {
      return !out.labels.empty() && other.labels == out.labels;
    };
    if (std::any_of(group.series.begin(), group.series.end(), same))
      reader_.error(node.at, fmt::format("the series {} is given twice", out.labels.text()));
    group.series.push_back(std::move(out));
  }

  void alert_test(const Node& node, TestGroup& group) {
    AlertTest out;
    reader_.map(
        node, "an alert_rule_test",
        {{"eval_time", [&](const Entry& e) { out.eval_time = duration(e.value, "eval_time"); }},
         {"alertname",
          [&](const Entry& e) { out.alertname = reader_.text(e.value, "alertname").value_or("?"); }},
         {"exp_alerts", [&](const Entry& e) {
            reader_.list(e.value, "exp_alerts", [&](const Node& n) {
              ExpectedAlert alert;
              reader_.map(
                  n, "an expected alert",
                  {{"exp_labels", [&](const Entry& l) { alert.labels = labels(l.value, "exp_labels"); }},
                   {"exp_annotations",
                    [&](const Entry& a) { alert.annotations = labels(a.value, "exp_annotations"); }}});
              out.expected.push_back(std::move(alert));
            });
          }}});
    need_alertname(node, out.alertname, "alert_rule_test", out.eval_time);
    for (ExpectedAlert& alert : out.expected) alert.labels.set("alertname", out.alertname);
    group.alerts.push_back(std::move(out));
  }

  void need_alertname(const Node& node, const std::string& name, std::string_view list, milliseconds at) {
    if (node.kind == Node::Kind::map && name.empty())
      reader_.error(node.at,
                    fmt::format("an item under {} misses required attribute alertname at eval_time {}", list,
                                format_duration(at)));
  }

  void expression_test(const Node& node, TestGroup& group) {
    ExpressionTest out;
    reader_.map(node, "a promql_expr_test",
                {{"expr", [&](const Entry& e) { out.expr = reader_.text(e.value, "expr").value_or("0"); }},
                 {"eval_time", [&](const Entry& e) { out.eval_time = duration(e.value, "eval_time"); }},
                 {"exp_samples", [&](const Entry& e) {
                    reader_.list(e.value, "exp_samples", [&](const Node& n) {
                      ExpectedSample sample;
                      reader_.map(n, "an expected sample",
                                  {{"labels",
                                    [&](const Entry& l) {
                                      const auto text = reader_.text(l.value, "labels");
                                      if (!text) return;
                                      auto parsed = parse_series(*text);
                                      if (!parsed)
                                        return reader_.error(l.value.at, "labels: " + parsed.error().message);
                                      sample.labels = std::move(*parsed);
                                    }},
                                   {"value", [&](const Entry& v) { sample.value = value(v.value); }}});
                      out.expected.push_back(std::move(sample));
                    });
                  }}});
    if (node.kind == Node::Kind::map && out.expr.empty()) reader_.error(node.at, "expr is missing");
    group.expressions.push_back(std::move(out));
  }

  // A YAML number: 1.5, 1e3, .nan, .inf, -.inf.
  double value(const Node& node) {
    const auto text = reader_.text(node, "value");
    if (!text) return 0;
    if (*text == ".nan" || *text == ".NaN" || *text == ".NAN") return std::nan("");
    std::string_view rest = *text;
    const bool negative = rest.starts_with('-');
    if (negative || rest.starts_with('+')) rest.remove_prefix(1);
    double out = 0;
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (rest == ".inf" || rest == ".Inf" || rest == ".INF")
      out = HUGE_VAL;
    else if (bad != std::errc{} || end != rest.data() + rest.size() ||
             std::isalpha(static_cast<unsigned char>(rest.empty() ? 'a' : rest[0])))
      reader_.error(node.at, fmt::format("value: '{}' is not a number", printable(*text, 40)),
                    "legal are: 1.5, 1e3, .nan, .inf, -.inf");
    return negative ? -out : out;
  }

  void remedy_test(const Node& node, TestGroup& group) {
    RemedyTest out;
    reader_.map(node, "a remedy_test",
                {{"eval_time", [&](const Entry& e) { out.eval_time = duration(e.value, "eval_time"); }},
                 {"alertname",
                  [&](const Entry& e) { out.alertname = reader_.text(e.value, "alertname").value_or("?"); }},
                 {"exp_remedies", [&](const Entry& e) {
                    reader_.list(e.value, "exp_remedies", [&](const Node& n) { expected_remedy(n, out); });
                  }}});
    need_alertname(node, out.alertname, "remedy_test", out.eval_time);
    group.remedies.push_back(std::move(out));
  }

  void expected_remedy(const Node& node, RemedyTest& test) {
    ExpectedRemedy out;
    reader_.map(
        node, "an expected remedy",
        {{"kind", [&](const Entry& e) { out.kind = reader_.text(e.value, "kind").value_or("?"); }},
         {"labels", [&](const Entry& e) { out.labels = labels(e.value, "labels"); }},
         {"params", [&](const Entry& e) {
            out.params.emplace();
            reader_.each(e.value, "params", [&](const Entry& p) {
              std::string text;
              if (p.value.kind == Node::Kind::list)
                text = fmt::format(
                    "[{}]",
                    fmt::join(reader_.texts(p.value, p.key).value_or(std::vector<std::string>{}), ", "));
              else
                text = reader_.text(p.value, p.key).value_or("");
              out.params->emplace_back(p.key, std::move(text));
            });
            std::sort(out.params->begin(), out.params->end());
          }}});
    if (node.kind == Node::Kind::map && out.kind.empty()) reader_.error(node.at, "kind is missing");
    test.expected.push_back(std::move(out));
  }

  yaml::Reader reader_;
  TestFile file_;
};

}  // namespace

TestFile parse_test_file(const std::string& file, const std::string& text, Diagnostics& diagnostics) {
  const auto root = yaml::parse(file, text, diagnostics);
  if (!root) return {};
  return TestFileParser(file, diagnostics).run(*root);
}

}  // namespace rdmend::ctl
