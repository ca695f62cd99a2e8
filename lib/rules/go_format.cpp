// SPDX-License-Identifier: Apache-2.0
// Go's package fmt for the values that templates have: the same text for the same verb, complaints included.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "rules/template_tree.hpp"

namespace rdmend::rules {
namespace {

constexpr std::string_view kVerbs = "vdsqfFeEgGxXt";

struct Spec {
  bool minus = false, plus = false, sharp = false, space = false, zero = false;
  int width = 0;
  int precision = -1;
  char verb = 0;
};

// The shortest digits that read back equal, with an exponent below 1e-4 and from 1e6 on (strconv.s rule for %g).
std::string shortest(double value) {
  char buffer[400];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const char* e = std::find(buffer, end, 'e');
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  if (exponent >= -4 && exponent < 6) end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return {buffer, end};
}

std::string hex_float(double value, bool upper) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent) * 2;  // Go writes denormal numbers with a leading 1 too
  if (value != 0) --exponent;
  std::string text = fmt::format("{:a}", mantissa);
  text.resize(text.find('p'));
  text += fmt::format("p{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  if (upper) std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::string hex_bytes(std::string_view text, bool upper, bool spaced) {
  std::string out;
  for (const char c : text) {
    if (spaced && !out.empty()) out += ' ';
    out += upper ? fmt::format("{:02X}", static_cast<unsigned char>(c)) : fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::size_t runes(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::string cut_runes(std::string_view text, int most) {
  std::size_t at = 0;
  for (int seen = 0; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80 && seen++ == most) break;
  return std::string(text.substr(0, at));
}

std::string pad(std::string text, const Spec& spec, bool number) {
  const auto length = runes(text);
  const auto width = static_cast<std::size_t>(spec.width);
  if (length >= width) return text;
  const std::size_t missing = width - length;
  if (spec.minus) return text + std::string(missing, ' ');
  if (!spec.zero) return std::string(missing, ' ') + text;
  const std::size_t sign = number && !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
  return text.insert(sign, missing, '0');
}

std::string signed_text(std::string text, const Spec& spec) {
  const bool has = text.starts_with('-') || text.starts_with('+');
  if (spec.plus && !has) return "+" + text;
  if (spec.space && !has) return " " + text;
  return text;
}

std::string bad(const Spec& spec, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return fmt::format("%!{}(<nil>)", spec.verb);
  return fmt::format("%!{}({}={})", spec.verb, go_type(value), go_text(value));
}

std::string format_float(double value, Spec spec) {
  const bool finite = std::isfinite(value);
  if (!finite) spec.zero = false;
  std::string text;
  if (spec.verb == 'x' || spec.verb == 'X')
    text = finite ? hex_float(value, spec.verb == 'X') : go_float(value, 'g', -1);
  else
    text = go_float(value, spec.verb, spec.precision < 0 && spec.verb != 'v' && spec.verb != 'g' && spec.verb != 'G' ? 6 : spec.precision);
  if (text.starts_with('+') && !spec.plus && finite) text.erase(0, 1);
  return pad(signed_text(std::move(text), spec), spec, true);
}

std::string format_whole(std::int64_t value, const Spec& spec) {
  std::string text;
  if (spec.verb == 'x' || spec.verb == 'X') {
    const auto magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    text = spec.verb == 'x' ? fmt::format("{:x}", magnitude) : fmt::format("{:X}", magnitude);
    if (spec.sharp) text = (spec.verb == 'x' ? "0x" : "0X") + text;
    if (value < 0) text = "-" + text;
  } else {
    text = std::to_string(value);
  }
  return pad(signed_text(std::move(text), spec), spec, true);
}

std::string format_text(const std::string& value, const Spec& spec) {
  const std::string cut = spec.precision >= 0 ? cut_runes(value, spec.precision) : value;
  if (spec.verb == 'q') return pad(quote(cut), spec, false);
  if (spec.verb == 'x' || spec.verb == 'X') return pad(hex_bytes(cut, spec.verb == 'X', spec.space), spec, false);
  return pad(cut, spec, false);
}

std::string format_value(const Value& value, const Spec& spec) {
  const auto one_of = [&](std::string_view verbs) { return verbs.find(spec.verb) != std::string_view::npos; };
  if (const auto* number = std::get_if<double>(&value)) return one_of("vfFeEgGxX") ? format_float(*number, spec) : bad(spec, value);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return one_of("vdxX") ? format_whole(*whole, spec) : bad(spec, value);
  if (const auto* text = std::get_if<std::string>(&value)) return one_of("vsqxX") ? format_text(*text, spec) : bad(spec, value);
  if (std::holds_alternative<bool>(value)) return one_of("vt") ? pad(go_text(value), spec, false) : bad(spec, value);
  if (std::holds_alternative<std::monostate>(value) && spec.verb == 'v') return pad("<nil>", spec, false);
  return one_of("vs") && !std::holds_alternative<std::monostate>(value) ? pad(go_text(value), spec, false) : bad(spec, value);
}

// Reads flags, width, precision and verb behind a '%'; the verb stays 0 at the end of the format.
Spec read_spec(std::string_view format, std::size_t& at) {
  Spec spec;
  for (; at < format.size(); ++at) {
    bool* flag = format[at] == '-' ? &spec.minus : format[at] == '+' ? &spec.plus : format[at] == '#' ? &spec.sharp : format[at] == ' ' ? &spec.space : format[at] == '0' ? &spec.zero : nullptr;
    if (flag == nullptr) break;
    *flag = true;
  }
  if (spec.minus) spec.zero = false;
  const auto number = [&] {
    int value = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) value = std::min(kMostWidth, value * 10 + (format[at] - '0'));
    return value;
  };
  spec.width = number();
  if (at < format.size() && format[at] == '.') {
    ++at;
    spec.precision = number();
  }
  if (at < format.size()) spec.verb = format[at++];
  return spec;
}

}  // namespace

std::string go_float(double value, char verb, int precision) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (verb == 'v') verb = 'g';
  if (precision >= 0) {
    std::string format = "{:.";
    format += std::to_string(precision) + (verb == 'F' ? 'f' : verb) + "}";
    return fmt::format(fmt::runtime(format), value);
  }
  std::string text = shortest(value);
  if (verb == 'G') std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string go_text(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "<no value>"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double d) const { return go_float(d, 'v', -1); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const Labels* labels) const {
      std::string out = "map[";
      for (const auto& [name, text] : *labels) out.append(out.size() > 4 ? " " : "").append(name).append(":").append(text);
      return out + "]";
    }
    std::string operator()(Root) const { return "{data}"; }
  };
  return std::visit(Visitor{}, value);
}

std::string go_type(const Value& value) {
  constexpr const char* kNames[] = {"nil", "bool", "int", "float64", "string", "map[string]string", "struct"};
  return kNames[value.index()];
}

std::string go_printf(std::string_view format, std::span<const Value> arguments) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < format.size() && out.size() <= kMostOutput;) {
    const auto percent = format.find('%', at);
    out += format.substr(at, percent - at);
    if (percent == std::string_view::npos) break;
    at = percent + 1;
    const Spec spec = read_spec(format, at);
    if (spec.verb == 0)
      out += "%!(NOVERB)";
    else if (spec.verb == '%')
      out += '%';
    else if (next >= arguments.size())
      out += fmt::format("%!{}(MISSING)", spec.verb);
    else
      out += format_value(arguments[next++], spec);
  }
  if (next >= arguments.size()) return out;
  out += "%!(EXTRA ";
  for (std::size_t i = next; i < arguments.size(); ++i) {
    if (i > next) out += ", ";
    out += std::holds_alternative<std::monostate>(arguments[i]) ? "<nil>" : go_type(arguments[i]) + "=" + go_text(arguments[i]);
  }
  return out + ")";
}

char unknown_verb(std::string_view format) {
  for (std::size_t at = format.find('%'); at != std::string_view::npos; at = format.find('%', at)) {
    ++at;
    const Spec spec = read_spec(format, at);
    if (spec.verb != 0 && spec.verb != '%' && kVerbs.find(spec.verb) == std::string_view::npos) return spec.verb;
  }
  return 0;
}

bool truth(const Value& value) {
  struct Visitor {
    bool operator()(std::monostate) const { return false; }
    bool operator()(bool b) const { return b; }
    bool operator()(std::int64_t n) const { return n != 0; }
    bool operator()(double d) const { return d != 0; }  // NaN is true, as in Go
    bool operator()(const std::string& s) const { return !s.empty(); }
    bool operator()(const Labels* labels) const { return !labels->empty(); }
    bool operator()(Root) const { return true; }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace rdmend::rules
