// SPDX-License-Identifier: Apache-2.0
// Runs rule tests as promtool does: samples up to each evaluation time, every group at it, then what was
// expected of it.
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "command.hpp"
#include "rules/engine.hpp"
#include "test_file.hpp"

namespace rdmend::ctl {
namespace {

constexpr milliseconds kSettle{30'000};  // remedies.settle's default

std::string go_labels(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    std::string quoted;
    for (const char c : value)
      quoted += c == '"' || c == '\\' ? std::string{'\\', c} : c == '\n' ? "\\n" : std::string(1, c);
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ", ", name, quoted);
  }
  return "{" + out + "}";
}

std::string alerts_text(const std::vector<ExpectedAlert>& alerts) {
  if (alerts.empty()) return "[]";
  std::string out = "[";
  for (std::size_t i = 0; i < alerts.size(); ++i)
    out += fmt::format("\n            {}:\n              Labels:{}\n              Annotations:{}", i,
                       go_labels(alerts[i].labels), go_labels(alerts[i].annotations)) +
           (i + 1 < alerts.size() ? "," : "");
  return out + "\n            ]";
}

// strconv's %E with the shortest digits: 7E+00.
std::string go_exponent(double value) {
  if (!std::isfinite(value)) return promql::format_value(value);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::replace(buffer, end, 'e', 'E');
  return {buffer, end};
}

std::string samples_text(const std::vector<ExpectedSample>& samples) {
  std::string out;
  for (const auto& sample : samples) {
    out +=
        fmt::format("{}{} {}", out.empty() ? "" : ", ", go_labels(sample.labels), go_exponent(sample.value));
  }
  return samples.empty() ? "nil" : out;
}

bool earlier(const ExpectedAlert& a, const ExpectedAlert& b) {
  return std::tie(a.labels, a.annotations) < std::tie(b.labels, b.annotations);
}
bool same_alert(const ExpectedAlert& a, const ExpectedAlert& b) {
  return a.labels == b.labels && a.annotations == b.annotations;
}

// A remedy's step that has begun, as a test may describe it.
struct Begun {
  std::string kind;
  Labels labels;
  std::vector<std::pair<std::string, std::string>> params;

  [[nodiscard]] bool fits(const ExpectedRemedy& expected) const {
    return kind == expected.kind && (!expected.labels || labels == *expected.labels) &&
           (!expected.params || params == *expected.params);
  }
};
std::string begun_text(const std::string& kind, const Labels* labels,
                       const std::vector<std::pair<std::string, std::string>>* params) {
  std::string out = kind;
  if (params != nullptr) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : *params) parts.push_back(fmt::format("{}: {}", name, value));
    out += fmt::format(" {{{}}}", fmt::join(parts, ", "));
  }
  return labels == nullptr ? out : out + " for " + go_labels(*labels);
}

class GroupRun {
 public:
  GroupRun(const TestFile& file, const TestGroup& group, std::vector<std::string>& errors)
      : file_(file), group_(group), errors_(errors), store_({1U << 30U, std::chrono::years{100}}) {}

  void run(const std::vector<rules::Group>& loaded) {
    rules::EngineOptions options = this->options();
    rules::Engine engine(store_, options);
    engine.load(prepared(loaded), options, now(milliseconds{0}));
    milliseconds last{0};
    for (const auto& test : group_.alerts) last = std::max(last, test.eval_time);
    for (const auto& test : group_.expressions) last = std::max(last, test.eval_time);
    for (const auto& test : group_.remedies) last = std::max(last, test.eval_time);
    for (milliseconds at{0}; at <= last; at += file_.evaluation_interval) {
      feed(at);
      engine.step(now(at));
      if (failed_rules(engine, at)) return;
      check_alerts(engine, at);
      check_remedies(engine, at);
    }
    check_expressions(options.limits);
  }

 private:
  static Now now(milliseconds at) { return {Instant(at), Timestamp(at)}; }

  [[nodiscard]] rules::EngineOptions options() const {
    rules::EngineOptions options;
    options.default_interval = file_.evaluation_interval;
    options.external_labels = group_.external_labels;
    options.external_url = group_.external_url;
    options.limits.timeout = seconds{30};
    options.limits.subquery_step = file_.evaluation_interval;
    return options;
  }

  // Every group is evaluated at every evaluation time, whatever its own interval.
  std::vector<rules::Group> prepared(std::vector<rules::Group> groups) const {
    const auto rank = [&](const rules::Group& group) {
      const auto& order = file_.group_eval_order;
      const auto found = std::find(order.begin(), order.end(), group.name);
      return found == order.end() ? std::ptrdiff_t{-1} : found - order.begin();
    };
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (auto& group : groups) group.interval = file_.evaluation_interval;
    return groups;
  }

  void feed(milliseconds till) {
    for (; next_ * group_.interval <= till; ++next_)
      for (const auto& series : group_.series)
        if (next_ < static_cast<std::int64_t>(series.values.size()) &&
            series.values[static_cast<std::size_t>(next_)])
          store_.append(series.labels, Timestamp(next_ * group_.interval),
                        *series.values[static_cast<std::size_t>(next_)]);
  }

  bool failed_rules(const rules::Engine& engine, milliseconds at) {
    bool failed = false;
    for (const auto& rule : engine.status()) {
      if (rule.last_error.empty()) continue;
      errors_.push_back(
          fmt::format("    rule: {}, time: {}, err: {}", rule.name, go_duration(at), rule.last_error));
      failed = true;
    }
    return failed;
  }

  // time.Duration's text: 1m30s, 1h0m0s, 0s.
  static std::string go_duration(milliseconds at) {
    const auto all = at.count();
    const auto h = all / 3'600'000;
    const auto m = all / 60'000 % 60;
    const double s = static_cast<double>(all % 60'000) / 1000;
    if (all == 0) return "0s";
    if (h > 0) return fmt::format("{}h{}m{}s", h, m, s);
    if (m > 0) return fmt::format("{}m{}s", m, s);
    return all < 1000 ? fmt::format("{}ms", all) : fmt::format("{}s", s);
  }

  [[nodiscard]] bool due(milliseconds eval_time, milliseconds at) const {
    return at <= eval_time && eval_time < at + file_.evaluation_interval;
  }
  [[nodiscard]] std::string heading() const {
    return group_.name.empty() ? "" : fmt::format("    name: {},\n", group_.name);
  }

  void check_alerts(const rules::Engine& engine, milliseconds at) {
    std::vector<const AlertTest*> tests;
    for (const auto& test : group_.alerts)
      if (due(test.eval_time, at)) tests.push_back(&test);
    std::stable_sort(tests.begin(), tests.end(),
                     [](const auto* a, const auto* b) { return a->eval_time < b->eval_time; });
    for (const AlertTest* test : tests) {
      std::vector<ExpectedAlert> got, expected = test->expected;
      for (const Alert& alert : engine.alerts())
        if (alert.rule == test->alertname && alert.state == AlertState::firing)
          got.push_back({alert.labels, alert.annotations});
      std::sort(got.begin(), got.end(), earlier);
      std::sort(expected.begin(), expected.end(), earlier);
      if (std::equal(got.begin(), got.end(), expected.begin(), expected.end(), same_alert)) continue;
      errors_.push_back(fmt::format("{}    alertname: {}, time: {}, \n        exp:{}, \n        got:{}",
                                    heading(), test->alertname, format_duration(test->eval_time),
                                    alerts_text(expected), alerts_text(got)));
    }
  }

  [[nodiscard]] static std::vector<Begun> begun(const Alert& alert, Timestamp by) {
    std::vector<Begun> out;
    if (alert.remedy == nullptr || alert.state != AlertState::firing) return out;
    const auto steps = static_cast<std::size_t>((by - alert.fired_at) / kSettle) + 1;
    for (std::size_t i = 0; i < std::min(steps, alert.remedy->size()); ++i) {
      const RemedySpec& spec = (*alert.remedy)[i];
      Begun one{spec.kind, alert.labels, {}};
      one.labels.erase("alertname");
      for (const auto& param : spec.params)
        one.params.emplace_back(param.name, param.is_list ? fmt::format("[{}]", fmt::join(param.values, ", "))
                                                          : param.values.front());
      std::sort(one.params.begin(), one.params.end());
      out.push_back(std::move(one));
    }
    return out;
  }

  void check_remedies(const rules::Engine& engine, milliseconds at) {
    for (const auto& test : group_.remedies) {
      if (!due(test.eval_time, at)) continue;
      std::vector<Begun> got;
      for (const Alert& alert : engine.alerts())
        if (alert.rule == test.alertname)
          for (auto& one : begun(alert, Timestamp(test.eval_time))) got.push_back(std::move(one));
      auto left = got;
      bool all = true;
      for (const auto& expected : test.expected) {
        const auto found =
            std::find_if(left.begin(), left.end(), [&](const Begun& one) { return one.fits(expected); });
        all = all && found != left.end();
        if (found != left.end()) left.erase(found);
      }
      if (all && left.empty()) continue;
      std::vector<std::string> exp_text, got_text;
      for (const auto& one : test.expected)
        exp_text.push_back(
            begun_text(one.kind, one.labels ? &*one.labels : nullptr, one.params ? &*one.params : nullptr));
      for (const auto& one : got) got_text.push_back(begun_text(one.kind, &one.labels, &one.params));
      errors_.push_back(fmt::format("{}    remedies of: {}, time: {},\n        exp: [{}]\n        got: [{}]",
                                    heading(), test.alertname, format_duration(test.eval_time),
                                    fmt::join(exp_text, "; "), fmt::join(got_text, "; ")));
    }
  }

  void check_expressions(const promql::Limits& limits) {
    for (const auto& test : group_.expressions) {
      const auto prefix =
          fmt::format("    expr: {}, time: {},", quoted(test.expr), format_duration(test.eval_time));
      auto got = query(test, limits);
      if (!got) {
        errors_.push_back(prefix + " err: " + got.error().message);
        continue;
      }
      auto expected = test.expected;
      const auto by_labels = [](const ExpectedSample& a, const ExpectedSample& b) {
        return a.labels < b.labels;
      };
      std::stable_sort(expected.begin(), expected.end(), by_labels);
      std::stable_sort(got->begin(), got->end(), by_labels);
      // As with promtool a NaN equals nothing, itself neither.
      const auto same = [](const ExpectedSample& a, const ExpectedSample& b) {
        return a.labels == b.labels && a.value == b.value;
      };
      if (!std::equal(got->begin(), got->end(), expected.begin(), expected.end(), same))
        errors_.push_back(fmt::format("{}\n        exp: {}\n        got: {}", prefix, samples_text(expected),
                                      samples_text(*got)));
    }
  }

  Result<std::vector<ExpectedSample>> query(const ExpressionTest& test, const promql::Limits& limits) const {
    const auto parsed = promql::parse(test.expr);
    if (const auto* faults = std::get_if<std::vector<promql::ParseError>>(&parsed)) {
      const auto& first = faults->front();
      return Error{fmt::format("{}:{}: {}{}{}", first.at.line, first.at.column, first.what,
                               first.hint.empty() ? "" : "; ", first.hint),
                   0};
    }
    auto value =
        promql::evaluate(std::get<promql::Expression>(parsed), store_, Timestamp(test.eval_time), limits);
    if (!value) return value.error();
    std::vector<ExpectedSample> out;
    if (const auto* number = std::get_if<double>(&*value))
      out.push_back({{}, *number});
    else if (const auto* vector = std::get_if<promql::Vector>(&*value))
      for (const auto& element : *vector) out.push_back({element.labels, element.value});
    else
      return Error{"rule result is not a vector or scalar", 0};
    return out;
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text)
      out += c == '"' || c == '\\' ? std::string{'\\', c}
             : c == '\n'           ? "\\n"
             : c == '\t'           ? "\\t"
                                   : std::string(1, c);
    return out + "\"";
  }

  const TestFile& file_;
  const TestGroup& group_;
  std::vector<std::string>& errors_;
  store::Store store_;
  std::int64_t next_ = 0;
};

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

}  // namespace

std::vector<std::string> run_tests(const TestFile& parsed, std::vector<std::string>& warnings) {
  std::vector<std::string> errors;
  std::vector<rules::Group> groups;
  Diagnostics diagnostics;
  for (const auto& pattern : parsed.rule_files) {
    const auto files = matching(pattern);
    if (files.empty()) warnings.push_back("  WARNING: no file match pattern " + pattern);
    if (parsed.tests.empty())
      continue;  // nothing reads the rules then, and promtool does not look at them either
    for (const auto& file : files) {
      const auto text = read_file(file);
      if (!text) return {text.error().message};
      for (auto& group : rules::parse_rule_file(file, *text, diagnostics)) groups.push_back(std::move(group));
    }
  }
  if (diagnostics.failed()) return {std::string(trim(diagnostics.text()))};
  for (const auto& group : parsed.tests) GroupRun(parsed, group, errors).run(groups);
  return errors;
}

}  // namespace rdmend::ctl
