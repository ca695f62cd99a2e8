// SPDX-License-Identifier: Apache-2.0
// Prometheus itself is the judge: what our templates make of many values is what promtool must find in its own alerts.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "rules/template.hpp"
#include "support/command.hpp"

using namespace rdmend;

namespace {

const std::vector<std::string> kTemplates = {
    "{{ $value }}",
    "{{ humanize $value }}",
    "{{ humanize1024 $value }}",
    "{{ humanizeDuration $value }}",
    "{{ humanizePercentage $value }}",
    "{{ if lt $value 9e9 }}{{ humanizeTimestamp $value }}{{ end }}",
    "{{ printf \"%.2f %e %g %.3g %8.1f|%-9.2e|%+.1f|%x %v %d %s %q %t\" $value $value $value $value $value $value $value $value $value $value $value $value $value }}",
    "{{ printf \"%d %5d|%-5d|%05d %x %X %v %f %s\" 42 42 42 42 255 255 7 8 9 }}",
    "{{ printf \"%s %q %x %10s|%-10s|%.2s %v %d\" \"a\" \"b\\\"c\" \"hi\" \"r\" \"l\" \"caf\xc3\xa9\" \"v\" \"d\" }}",
    "{{ printf \"%t %v %d\" true false true }}{{ printf \"%d %d\" 1 }}{{ printf \"x\" 1 \"y\" 2.5 true }}{{ printf \"%\" }}",
    "{{ if gt $value 100.0 }}big{{ else if gt $value 1.0 }}middle{{ else }}small{{ end }}",
    "{{ range $k, $v := $labels }}{{ $k }}={{ $v }};{{ end }}",
    "{{ with $labels.none }}x{{ else }}y{{ end }}{{ with $labels.i }}<{{ . }}>{{ end }}",
    "{{ $labels.text | title }} {{ toUpper $labels.text }} {{ toLower $labels.text }} {{ stripPort $labels.address }}",
    "{{ reReplaceAll \"(o)(w)?\" \"<$1|${2}>$$\" $labels.text }} {{ reReplaceAll \"x*\" \"-\" $labels.text }} {{ match \"o w\" $labels.text }}",
    "{{ len $labels.text }} {{ index $labels \"text\" }} {{ eq 1 2 1 }} {{ ne \"a\" \"b\" }} {{ le 1 1 }} {{ and 1 0 }} {{ or 0 \"z\" }} {{ not true }}",
    "a {{- \" b \" -}} c {{/* x */}}{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }} {{ ($labels.text | title) | len }} {{ `r\\n` }}",
    "{{ .Labels.text }} {{ .Value | humanize }} {{ $labels.missing }}|{{ $externalLabels.region }}|{{ $labels }}",
    "{{ 1e6 }} {{ 1e20 }} {{ 0.00001 }} {{ 12 }} {{ -3 }} {{ 5.0 }} {{ \"\\u00e9\" }}",
};

const std::vector<std::string> kValues = {"0",        "1",          "-1",         "0.5",       "999",      "1000",       "999.95",   "1023",     "1024",       "1536",       "1048576",       "1e6",      "123456",
                                          "1234567",  "0.001",      "0.00012345", "1e-5",      "1e-27",    "1e30",       "-12345.6", "59",       "60",         "61.5",       "3599",          "3661",     "86400",
                                          "93784.25", "1435065584", "1435065584.128", "-1.5",  "NaN",      "Inf",        "-Inf",     "0.1",      "123456789.123", "1e9",     "4.9e-324",      "2.5e15",   "-0.25",
                                          "99.995",   "9999.5",     "1e15"};

std::string yaml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

double to_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

}  // namespace

TEST_CASE("templates expand to what Prometheus expands them to") {
  const std::string directory = std::string(RDMEND_BINARY_DIR) + "/template_promtool";
  REQUIRE(test::run_command("mkdir -p " + directory).status == 0);
  std::string rule = "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x\n    annotations:\n";
  for (std::size_t i = 0; i < kTemplates.size(); ++i) rule += fmt::format("      t{:02}: {}\n", i, yaml_text(kTemplates[i]));
  test::write_file(directory + "/rules.yaml", rule);

  const Labels external{{"region", "north"}};
  std::string unit = "rule_files: [rules.yaml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  external_labels: {region: north}\n  input_series:\n";
  std::string expected;
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    const Labels labels{{"__name__", "x"}, {"i", std::to_string(i)}, {"text", "Hello wOrld-two it's"}, {"address", "host:9100"}};
    unit += fmt::format("  - {{series: {}, values: {}}}\n", yaml_text(labels.text()), yaml_text(kValues[i]));
    expected += fmt::format("    - exp_labels: {{i: {}, text: \"Hello wOrld-two it's\", address: \"host:9100\"}}\n      exp_annotations:\n", yaml_text(std::to_string(i)));
    for (std::size_t t = 0; t < kTemplates.size(); ++t) {
      const auto parsed = rules::Template::parse(kTemplates[t]);
      INFO(kTemplates[t]);
      REQUIRE(std::holds_alternative<rules::Template>(parsed));
      expected += fmt::format("        t{:02}: {}\n", t, yaml_text(std::get<rules::Template>(parsed).expand({labels, external, "", to_double(kValues[i])})));
    }
  }
  test::write_file(directory + "/test.yaml", unit + "  alert_rule_test:\n  - eval_time: 0m\n    alertname: A\n    exp_alerts:\n" + expected);
  const auto judged = test::run_command("promtool test rules " + directory + "/test.yaml 2>&1");
  INFO(judged.output);
  CHECK(judged.status == 0);
}
