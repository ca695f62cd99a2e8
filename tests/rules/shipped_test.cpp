// SPDX-License-Identifier: Apache-2.0
// The rules that are shipped: checked, tested, loaded by Prometheus, explained.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "base/text.hpp"
#include "remedies/remedy.hpp"
#include "rules/rule_file.hpp"
#include "work.hpp"

using namespace rdmend;
using test::slurp;
using test::Work;

namespace {

const std::string kSource = RDMEND_SOURCE_DIR;

std::vector<std::string> files_of(const std::string& directory, const std::string& extension) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/" + directory))
    if (entry.path().extension() == extension) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

struct Shipped {
  std::string file;
  rules::Rule rule;
};

std::vector<Shipped> shipped() {
  std::vector<Shipped> out;
  for (const auto& file : files_of("config/rules.d", ".yaml")) {
    Diagnostics diagnostics;
    for (auto& group : rules::parse_rule_file(file, slurp(kSource + "/config/rules.d/" + file), diagnostics))
      for (auto& rule : group.rules) {
        if (rule.remedy)
          for (const auto& step : *rule.remedy) remedies::compile(step, diagnostics);
        out.push_back({file, std::move(rule)});
      }
    CHECK(diagnostics.text().empty());
  }
  return out;
}

std::string remedy_text(const rules::Rule& rule) {
  if (!rule.remedy) return "none";
  std::string out;
  for (const auto& step : *rule.remedy) {
    std::vector<std::string> params;
    for (const auto& param : step.params) params.push_back(fmt::format("{}: {}", param.name, fmt::join(param.values, ", ")));
    out += fmt::format("{}{} {{{}}}", out.empty() ? "" : ", then ", step.kind, fmt::join(params, ", "));
  }
  return out;
}

// What a reference page quotes of its rule, from the rule itself.
std::string facts(const Shipped& one) {
  std::string severity;
  for (const auto& [name, text] : one.rule.labels)
    if (name == "severity") severity = text.text();
  return fmt::format(
      "<!-- made from the rule -->\n```promql\n{}\n```\n\n| file | for | keep_firing_for | severity | remedy |\n|---|---|---|---|---|\n"
      "| `config/rules.d/{}` | {} | {} | {} | {} |\n<!-- end -->\n",
      one.rule.expression.text(), one.file, format_duration(one.rule.hold), format_duration(one.rule.keep_firing_for), severity, remedy_text(one.rule));
}

// A test file as promtool takes it: without remedy_test.
std::string without_remedy_tests(const std::string& text) {
  std::string out;
  bool skipping = false;
  for (const auto line : split(text, '\n')) {
    const bool key_of_test = line.starts_with("- ") || (line.starts_with("  ") && line.size() > 2 && line[2] != ' ' && line[2] != '-');
    if (key_of_test) skipping = line.starts_with("  remedy_test:");
    if (!skipping) out += std::string(line) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("each shipped alert has a severity, and words for a stranger") {
  const auto all = shipped();
  REQUIRE(all.size() >= 8);
  for (const auto& [file, rule] : all) {
    INFO(rule.alert);
    const auto has = [](const auto& list, const std::string& name) { return std::any_of(list.begin(), list.end(), [&](const auto& pair) { return pair.first == name; }); };
    CHECK(has(rule.labels, "severity"));
    CHECK(has(rule.annotations, "summary"));
    CHECK(has(rule.annotations, "description"));
  }
}

TEST_CASE("each shipped alert has a test, which passes here and in promtool") {
  const Work work("shipped");
  std::string inputs;
  for (const auto& file : files_of("config/rules.d", ".yaml")) inputs += " " + kSource + "/config/rules.d/" + file;
  REQUIRE(work.run("mkdir -p config/rules.d tests/rules && " RDMENDCTL " export rules -o config/rules.d" + inputs).status == 0);
  const auto checked = work.run("promtool check rules config/rules.d/*.yaml");
  INFO(checked.output);
  CHECK(checked.status == 0);
  for (const auto& [file, rule] : shipped()) {
    INFO(rule.alert);
    const std::string path = "tests/rules/" + rule.alert + ".yaml";
    const std::string text = slurp(kSource + "/" + path);
    REQUIRE_FALSE(text.empty());
    CHECK(text.find("rule_files: [../../config/rules.d/" + file + "]") != std::string::npos);
    const auto ours = work.ctl("test rules " + kSource + "/" + path);
    INFO(ours.output);
    CHECK(ours.status == 0);
    work.file(path, without_remedy_tests(text));
    const auto judge = work.run("promtool test rules " + path);
    INFO(judge.output);
    CHECK(judge.status == 0);
  }
}

TEST_CASE("each shipped alert has a page that quotes its rule; RDMEND_UPDATE_REFERENCE=1 writes what is quoted") {
  std::vector<std::string> pages;
  for (const auto& one : shipped()) {
    INFO(one.rule.alert);
    const std::string path = kSource + "/config/reference/rules/" + one.rule.alert + ".md";
    std::string page = slurp(path);
    pages.push_back(one.rule.alert + ".md");
    const auto begin = page.find("<!-- made from the rule -->\n");
    const auto end = page.find("<!-- end -->\n");
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    const std::string quoted = page.substr(begin, end + 13 - begin);
    if (std::getenv("RDMEND_UPDATE_REFERENCE") != nullptr && quoted != facts(one)) test::write_file(path, page.replace(begin, quoted.size(), facts(one)));
    CHECK(slurp(path).find(facts(one)) != std::string::npos);
    for (const char* section : {"## What it means", "## What to look at", "## What rdmend does", "## What it does not tell"}) CHECK(page.find(section) != std::string::npos);
  }
  std::sort(pages.begin(), pages.end());
  CHECK(files_of("config/reference/rules", ".md") == pages);
}

// The expression's text without white space.
static std::string squeezed(const rules::Rule& rule) {
  std::string text(rule.expression.text());
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST_CASE("B8: no shipped rule reads a counter's total, only what it grew by within a window") {
  for (const auto& [file, rule] : shipped()) {
    const auto text = squeezed(rule);
    INFO(rule.alert << ": " << text);
    for (auto at = text.find("_total"); at != std::string::npos; at = text.find("_total", at + 1)) {
      // Behind the selector's name, or its matchers, stands a range.
      const auto matchers = text.find_first_of("{}[", at);
      REQUIRE(matchers != std::string::npos);
      const auto end = text[matchers] == '[' ? matchers : text.find('}', matchers) + 1;
      REQUIRE(end < text.size());
      CHECK(text[end] == '[');
    }
  }
}

TEST_CASE("B9: no shipped rule takes flushed requests for a fault") {
  for (const auto& [file, rule] : shipped()) {
    INFO(rule.alert);
    CHECK(std::string(rule.expression.text()).find("flush") == std::string::npos);
  }
}

TEST_CASE("C7: every condition that a shipped alert fires on has an end, which its test shows") {
  for (const auto& [file, rule] : shipped()) {
    INFO(rule.alert);
    const auto text = slurp(kSource + "/tests/rules/" + rule.alert + ".yaml");
    const auto fires = text.find("exp_labels:");
    REQUIRE(fires != std::string::npos);
    CHECK(text.find("alertname: " + rule.alert + ", exp_alerts: []", fires) != std::string::npos);
  }
}
