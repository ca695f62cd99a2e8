// SPDX-License-Identifier: Apache-2.0
#include "rules/template.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace rdmend;
using rules::Template;

namespace {

std::string template_faults(const std::string& text) {
  const auto parsed = Template::parse(text);
  std::string out;
  if (const auto* errors = std::get_if<std::vector<promql::ParseError>>(&parsed))
    for (const auto& e : *errors) out += std::to_string(e.at.line) + ":" + std::to_string(e.at.column) + ": " + e.what + (e.hint.empty() ? "" : "; " + e.hint) + "\n";
  return out;
}

std::string expand(const std::string& text, double value = 42, const Labels& labels = {{"device", "mlx5_0"}, {"port", "1"}}) {
  INFO(template_faults(text));
  const auto parsed = Template::parse(text);
  REQUIRE(std::holds_alternative<Template>(parsed));
  const Labels external{{"instance", "host-17"}};
  return std::get<Template>(parsed).expand({labels, external, "http://host-17:9879", value});
}

}  // namespace

TEST_CASE("labels, value and the external ones") {
  CHECK(expand("plain") == "plain");
  CHECK(expand("") == "");
  CHECK(expand("{{ $labels.device }}/{{$labels.port}} at {{ $value }}") == "mlx5_0/1 at 42");
  CHECK(expand("{{ .Labels.device }} {{ .Value }} {{ $.Value }} {{ $.Labels.port }}") == "mlx5_0 42 42 1");
  CHECK(expand("{{ $externalLabels.instance }} {{ .ExternalLabels.instance }} {{ $externalURL }} {{ .ExternalURL }}") == "host-17 host-17 http://host-17:9879 http://host-17:9879");
  CHECK(expand("[{{ $labels.nothing }}]") == "[]");
  CHECK(expand("{{ $labels }}") == "map[device:mlx5_0 port:1]");
}

TEST_CASE("values print as Go prints them") {
  CHECK(expand("{{ $value }}", 0.1) == "0.1");
  CHECK(expand("{{ $value }}", 123456) == "123456");
  CHECK(expand("{{ $value }}", 1e6) == "1e+06");
  CHECK(expand("{{ $value }}", 1234567) == "1.234567e+06");
  CHECK(expand("{{ $value }}", 0.0001) == "0.0001");
  CHECK(expand("{{ $value }}", 0.00001) == "1e-05");
  CHECK(expand("{{ $value }}", std::nan("")) == "NaN");
  CHECK(expand("{{ $value }}", -std::numeric_limits<double>::infinity()) == "-Inf");
  CHECK(expand("{{ 5 }} {{ 5.0 }} {{ 1e7 }} {{ -3 }} {{ true }} {{ \"a\\tb\\x41\\u00e9\" }} {{ `raw\\n` }}") == "5 5 1e+07 -3 true a\tbA\xc3\xa9 raw\\n");
}

TEST_CASE("printf has Go's verbs and Go's complaints") {
  CHECK(expand("{{ printf \"%.2f|%8.3f|%-6s|%06d|%+d|%q|%x|%X|%t|%%\" 1.005 3.14159 \"ab\" 42 7 \"a\\\"b\\n\" 255 \"hi\" true }}") == "1.00|   3.142|ab    |000042|+7|\"a\\\"b\\n\"|ff|6869|true|%");
  CHECK(expand("{{ printf \"%e %g %.3g %E\" 1234.5678 1234.5678 1234.5678 0.5 }}") == "1.234568e+03 1234.5678 1.23e+03 5.000000E-01");
  CHECK(expand("{{ printf \"%d %s\" $value 5 }}") == "%!d(float64=42) %!s(int=5)");
  CHECK(expand("{{ printf \"%d\" }}") == "%!d(MISSING)");
  CHECK(expand("{{ printf \"x\" 1 \"y\" }}") == "x%!(EXTRA int=1, string=y)");
  CHECK(expand("{{ printf \"%\" }}") == "%!(NOVERB)");
  CHECK(expand("{{ $value | printf \"%.1f%s\" 1.25 }}") == "1.2%!s(float64=42)");
  CHECK(expand("{{ printf \"%5t|%.2s|%v\" true \"caf\xc3\xa9\" $labels }}") == " true|ca|map[device:mlx5_0 port:1]");
}

TEST_CASE("a time far away has no text")  {
  CHECK(expand("{{ humanizeTimestamp $value }}", 1e15) == "<error expanding template: 1:4: error calling humanizeTimestamp: 1e+15 cannot be represented as a nanoseconds timestamp since it overflows int64>");
  CHECK(expand("{{ humanizeTimestamp $value }}", std::nan("")) == "NaN");
}

TEST_CASE("control flow") {
  CHECK(expand("{{ if eq $labels.port \"1\" }}one{{ else }}other{{ end }}") == "one");
  CHECK(expand("{{ if gt $value 100.0 }}much{{ else if gt $value 10.0 }}some{{ else }}little{{ end }}") == "some");
  CHECK(expand("{{ if gt $value 100.0 }}much{{ else if gt $value 50.0 }}some{{ else }}little{{ end }}") == "little");
  CHECK(expand("{{ with $labels.device }}<{{ . }}>{{ end }}{{ with $labels.none }}x{{ else }}none{{ end }}") == "<mlx5_0>none");
  CHECK(expand("{{ with .Labels }}{{ .device }}{{ end }}") == "mlx5_0");
  CHECK(expand("{{ range $k, $v := $labels }}{{ $k }}={{ $v }},{{ end }}") == "device=mlx5_0,port=1,");
  CHECK(expand("{{ range .Labels }}[{{ . }}]{{ else }}empty{{ end }}") == "[mlx5_0][1]");
  CHECK(expand("{{ range $v := .Labels }}{{ $v }}{{ else }}empty{{ end }}", 1, {}) == "empty");
  CHECK(expand("{{ $x := \"a\" }}{{ if true }}{{ $x = \"b\" }}{{ $x := \"c\" }}{{ end }}{{ $x }}") == "b");
  CHECK(expand("{{ with $x := $labels.port }}{{ $x }}{{ end }}") == "1");
  CHECK(expand("{{ if and (eq $labels.port \"1\") (not (eq $labels.device \"x\")) }}y{{ end }}{{ or \"\" \"z\" }}{{ and 1 0 }}") == "yz0");
  CHECK(expand("a {{- \" b \" -}} c") == "a b c");
  CHECK(expand("a\n  {{- /* note }} */ -}}  \n b{{/* x */}}c") == "abc");
  CHECK(expand("{{ \"}}\" }}") == "}}");
  CHECK(expand("{{ len \"abc\" }}{{ len $labels }}{{ index $labels \"port\" }}{{ (index .Labels \"device\") | toUpper }}") == "321MLX5_0");
  CHECK(expand("{{ eq 1 2 1 }}{{ ne \"a\" \"b\" }}{{ le 1 1 }}{{ lt 1.5 2.5 }}{{ ge \"b\" \"a\" }}") == "truetruetruetruetrue");
}

TEST_CASE("functions of texts") {
  CHECK(expand("{{ \"mlx5_0 port-one it's\" | title }}") == "Mlx5_0 Port-One It'S");
  CHECK(expand("{{ toUpper \"caf\xc3\xa9\" }}{{ toLower \"ABC\" }}") == "CAF\xc3\x89" "abc");
  CHECK(expand("{{ reReplaceAll \"(a)(b)?\" \"<$1|${2}>\" \"abxa\" }}") == "<a|b>x<a|>");
  CHECK(expand("{{ reReplaceAll \"x*\" \"-\" \"abc\" }}") == "-a-b-c-");
  CHECK(expand("{{ reReplaceAll \"(?P<n>b)\" \"$n$$ $1x ${9}\" \"abc\" }}") == "ab$  c");
  CHECK(expand("{{ $labels.device | reReplaceAll \"_[0-9]+$\" \"\" }}") == "mlx5");
  CHECK(expand("{{ match \"^mlx\" $labels.device }}{{ match \"^x\" $labels.device }}") == "truefalse");
  CHECK(expand("{{ stripPort \"host:9100\" }} {{ stripPort \"host\" }} {{ stripPort \"[::1]:80\" }} {{ stripPort \"::1\" }}") == "host host ::1 ::1");
}

TEST_CASE("a fault at run time is told in the text, as Prometheus does") {
  CHECK(expand("{{ gt $value 5 }}") == "<error expanding template: 1:4: error calling gt: incompatible types for comparison (float64 and int)>");
  CHECK(expand("x{{ toUpper $value }}") == "<error expanding template: 1:5: error calling toUpper: wrong type for value; expected string; got float64>");
  CHECK(expand("{{ humanize $labels.device }}") == "<error expanding template: 1:4: error calling humanize: strconv.ParseFloat: parsing \"mlx5_0\": invalid syntax>");
  CHECK(expand("{{ range $value }}{{ end }}") == "<error expanding template: 1:4: range can't iterate over 42>");
  CHECK(expand("{{ reReplaceAll $labels.device \"\" \"x\" }}", 1, {{"device", "("}}).starts_with("<error expanding template: 1:4: error calling reReplaceAll: regexp: Compile(`(`)"));
}

TEST_CASE("what the language has not, and what is misspelt, is refused with its place") {
  CHECK(template_faults("{{ query \"up\" | first | value }}") == "1:4: function 'query' is not in rdmend's part of the template language\n");
  CHECK(template_faults("a\n{{ $lables.x }}\n{{ humanise $value }}") == "2:4: unknown variable '$lables'; did you mean '$labels'?\n3:4: unknown function 'humanise'; did you mean 'humanize'?\n");
  CHECK(template_faults("{{ template \"x\" }}") == "1:4: 'template' is not in rdmend's part of the template language; legal are: if, else, with, range, end\n");
  CHECK(template_faults("{{ externalURL }}") == "1:4: function 'externalURL' is not in rdmend's part of the template language\n");
  CHECK(template_faults("{{ if true }}x") == "1:4: 'if' without its {{end}}\n");
  CHECK(template_faults("x{{ end }}") == "1:5: 'end' without an if, with or range before it\n");
  CHECK(template_faults("{{ if true }}a{{ else }}b{{ else }}c{{ end }}") == "1:29: a second else; one if has one else\n");
  CHECK(template_faults("{{ $value") == "1:1: '{{' without its }}\n");
  CHECK(template_faults("{{ }}") == "1:4: nothing between {{ and }}\n");
  CHECK(template_faults("{{ \"a }}") == "1:1: '{{' without its }}\n");
  CHECK(template_faults("{{ humanize }}") == "1:4: humanize takes 1 argument, not 0\n");
  CHECK(template_faults("{{ humanize 1 2 }}") == "1:4: humanize takes 1 argument, not 2\n");
  CHECK(template_faults("{{ $value | }}") == "1:13: a value is missing\n");
  CHECK(template_faults("{{ $value 5 }}").starts_with("1:4: this is no function: it takes no argument; functions are: "));
  CHECK(template_faults("{{ 5 | $value }}").starts_with("1:8: this is no function"));
  CHECK(template_faults("{{ printf \"%b\" 5 }}") == "1:11: printf: verb '%b' is not known; legal are: %v %d %s %q %f %e %g %x %t %%\n");
  CHECK(template_faults("{{ match \"(\" \"x\" }}") == "1:10: not a regular expression: missing ): (\n");
  CHECK(template_faults("{{ .Lables.x }}") == "1:4: unknown field '.Lables'; did you mean 'Labels'?\n");
  CHECK(template_faults("{{ $value.x }}") == "1:4: a number has no field '.x'\n");
  CHECK(template_faults("{{ ($value }}") == "1:12: ')' is missing\n");
  CHECK(template_faults("{{ $a, $b := $labels }}") == "1:6: two variables; only a range declares two\n");
  CHECK(template_faults("{{ $x = 1 }}") == "1:7: unknown variable '$x'; declare it with :=\n");
  CHECK(template_faults("{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}").starts_with("1:39: unknown variable '$x'"));
  CHECK(template_faults("{{ eq \"\\q\" 1 }}") == "1:7: an unknown escape in a text; legal are: \\n \\t \\r \\\\ \\\" \\xNN \\uNNNN\n");
  CHECK(template_faults("{{ 1x }}") == "1:4: '1x' is not a number\n");
  CHECK(template_faults("{{ /* a */ 1 }}") == "1:4: a comment stands alone between {{ and }}\n");
  CHECK(template_faults("{{ # }}") == "1:4: unexpected '#'\n");
}

TEST_CASE("hostile templates are bounded") {
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "{{ if true }}";
  CHECK(template_faults(nested).find("nested deeper than 32 levels") != std::string::npos);
  CHECK(template_faults("{{ " + std::string(100'000, '(') + " }}").find("more than 1000 words") != std::string::npos);
  CHECK_FALSE(template_faults("{{ " + std::string(500, '(') + "1" + std::string(400, ')') + " }}").empty());
  CHECK(expand("{{ printf \"%1000d\" 5 }}").size() == 1000);
  CHECK(expand("{{ printf \"%99999999d\" 5 }}").size() == 1000);
  CHECK(expand("{{ $labels.big }}{{ $labels.big }}", 1, {{"big", std::string(40'000, 'x')}}) == "<error expanding template: 1:21: the text is longer than 65536 bytes>");
  std::string loops;
  for (int i = 0; i < 20; ++i) loops += "{{ range $labels }}";
  loops += "x";
  for (int i = 0; i < 20; ++i) loops += "{{ end }}";
  CHECK(expand(loops, 1, {{"a", "1"}, {"b", "2"}, {"c", "3"}}).find("<error expanding template:") == 0);
  std::uint32_t seed = 1;
  for (int round = 0; round < 20'000; ++round) {
    constexpr std::string_view kParts[] = {"{{", "}}", "{{-", "-}}", " ", "if ", "else ", "end", "with ", "range ", "$labels", ".", "device", "$value", "|", "(", ")", "\"", "`", "printf ", "%d", ":=", "$x", ",", "1", "-", "/*", "*/", "humanize ", "and ", "\\", "\n"};
    std::string text;
    for (int i = 0; i < 12; ++i) {
      seed = seed * 1664525 + 1013904223;
      text += kParts[(seed >> 16U) % std::size(kParts)];
    }
    const auto parsed = Template::parse(text);
    const Labels labels{{"device", "x"}};
    if (const auto* good = std::get_if<Template>(&parsed)) CHECK(good->expand({labels, labels, "", 1}).size() <= 65'536);
  }
}
