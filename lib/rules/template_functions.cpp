// SPDX-License-Identifier: Apache-2.0
// The functions of templates: Prometheus' template/template.go and Go's text/template/funcs.go say what each answers.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <locale.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <compare>
#include <cwctype>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "rules/template_tree.hpp"

namespace rdmend::rules {
namespace {

using Arguments = std::vector<Value>;

std::optional<double> parse_go_float(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  const bool negative = lower.starts_with('-');
  if (negative || lower.starts_with('+')) lower.erase(0, 1);
  if (lower == "inf" || lower == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (lower == "nan") return std::nan("");
  if (lower.empty() || lower[0] == '-' || lower[0] == 'i' || lower[0] == 'n') return std::nullopt;
  double value = 0;
  const auto [end, fault] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  if (fault != std::errc{} || end != lower.data() + lower.size()) return std::nullopt;
  return negative ? -value : value;
}

struct Number {
  double value = 0;
  std::string fault;
};
Number to_float(const Value& value) {
  if (const auto* d = std::get_if<double>(&value)) return {*d, {}};
  if (const auto* n = std::get_if<std::int64_t>(&value)) return {static_cast<double>(*n), {}};
  if (const auto* s = std::get_if<std::string>(&value)) {
    if (const auto parsed = parse_go_float(*s)) return {*parsed, {}};
    return {0, fmt::format("strconv.ParseFloat: parsing \"{}\": invalid syntax", printable(*s))};
  }
  return {0, fmt::format("can't convert {} to float", go_type(value))};
}

std::string four_digits(double value) { return go_float(value, 'g', 4); }

constexpr std::array<const char*, 8> kSmall{"m", "u", "n", "p", "f", "a", "z", "y"};

std::string scaled_down(double v, const char* unit) {
  const char* prefix = "";
  for (const char* p : kSmall) {
    if (std::abs(v) >= 1) break;
    prefix = p;
    v *= 1000;
  }
  return four_digits(v) + prefix + unit;
}
std::string scaled_up(double v, double base, std::span<const char* const> prefixes) {
  const char* prefix = "";
  for (const char* p : prefixes) {
    if (std::abs(v) < base) break;
    prefix = p;
    v /= base;
  }
  return four_digits(v) + prefix;
}

std::string humanize(double v) {
  constexpr std::array<const char*, 8> kLarge{"k", "M", "G", "T", "P", "E", "Z", "Y"};
  if (v == 0 || !std::isfinite(v)) return four_digits(v);
  return std::abs(v) >= 1 ? scaled_up(v, 1000, kLarge) : scaled_down(v, "");
}
std::string humanize1024(double v) {
  constexpr std::array<const char*, 8> kLarge{"ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"};
  if (std::abs(v) <= 1 || !std::isfinite(v)) return four_digits(v);
  return scaled_up(v, 1024, kLarge);
}
std::string humanize_duration(double v) {
  if (!std::isfinite(v)) return four_digits(v);
  if (v == 0) return "0s";
  if (std::abs(v) < 1) return scaled_down(v, "s");
  const char* sign = v < 0 ? "-" : "";
  v = std::abs(v);
  const std::int64_t all = v < 9e18 ? static_cast<std::int64_t>(v) : std::numeric_limits<std::int64_t>::min();
  const auto s = all % 60;
  const auto m = all / 60 % 60;
  const auto h = all / 3600 % 24;
  const auto d = all / 86400;
  if (d != 0) return fmt::format("{}{}d {}h {}m {}s", sign, d, h, m, s);
  if (h != 0) return fmt::format("{}{}h {}m {}s", sign, h, m, s);
  if (m != 0) return fmt::format("{}{}m {}s", sign, m, s);
  return fmt::format("{}{}s", sign, four_digits(v));
}
std::string humanize_percentage(double v) { return four_digits(v * 100) + "%"; }
Outcome humanize_timestamp(double v) {
  if (!std::isfinite(v)) return Value(four_digits(v));
  if (std::abs(v) * 1e9 > 9.2233720368547e18)
    return RunError{fmt::format("{} cannot be represented as a nanoseconds timestamp since it overflows int64", go_float(v, 'v', -1))};
  const auto milli = static_cast<std::int64_t>(v * 1e9) / 1'000'000;
  const auto whole = milli / 1000 - (milli % 1000 < 0 ? 1 : 0);
  std::string fraction;
  if (const auto rest = milli - whole * 1000; rest != 0) {
    fraction = fmt::format(".{:03}", rest);
    while (fraction.ends_with('0')) fraction.pop_back();
  }
  return Value(fmt::format("{:%Y-%m-%d %H:%M:%S}{} +0000 UTC", fmt::gmtime(static_cast<std::time_t>(whole)), fraction));
}

template <auto F>
Outcome on_float(const Arguments& a) {
  const auto [value, fault] = to_float(a[0]);
  if (!fault.empty()) return RunError{fault};
  return F(value);
}

template <std::size_t Count, class F>
Outcome on_texts(const Arguments& a, F f) {
  std::array<const std::string*, Count> texts{};
  for (std::size_t i = 0; i < Count; ++i) {
    texts[i] = std::get_if<std::string>(&a[i]);
    if (texts[i] == nullptr) return RunError{fmt::format("wrong type for value; expected string; got {}", go_type(a[i]))};
  }
  return std::apply([&](const auto*... text) { return Outcome(f(*text...)); }, texts);
}

// Letters of any language: glibc's C.UTF-8 knows Unicode's case tables and is always there.
std::string map_case(const std::string& text, wint_t (*change)(wint_t, locale_t)) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return text;
  const locale_t before = uselocale(utf8);
  std::string out;
  std::mbstate_t state{};
  for (std::size_t at = 0; at < text.size();) {
    wchar_t wide = 0;
    const std::size_t length = std::mbrtowc(&wide, text.data() + at, text.size() - at, &state);
    char buffer[16];
    std::mbstate_t out_state{};
    const std::size_t made = length > 0 && length <= 4 ? std::wcrtomb(buffer, static_cast<wchar_t>(change(static_cast<wint_t>(wide), utf8)), &out_state) : 0;
    if (made == 0 || made > 4) {
      out += text[at++];
      state = {};
      continue;
    }
    out.append(buffer, made);
    at += length;
  }
  uselocale(before);
  return out;
}

// strings.Title: the first letter of every word; letters, digits and '_' go on with a word.
std::string title(const std::string& text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t next = at + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xc0U) == 0x80) ++next;
    const std::string letter = text.substr(at, next - at);
    out += inside ? letter : map_case(letter, towupper_l);
    const auto c = static_cast<unsigned char>(letter[0]);
    inside = c >= 0x80 || std::isalnum(c) || c == '_';
    at = next;
  }
  return out;
}

std::unique_ptr<RE2> compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return std::make_unique<RE2>(pattern, options);
}

// Go's Regexp.Expand: $1, ${1}, $name, ${name}, $$; what names no group is empty.
std::string expand(std::string_view replacement, const std::vector<re2::StringPiece>& groups, const std::map<std::string, int>& names) {
  std::string out;
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = 0; at < replacement.size();) {
    if (replacement[at] != '$' || at + 1 >= replacement.size()) {
      out += replacement[at++];
      continue;
    }
    if (replacement[at + 1] == '$') {
      out += '$';
      at += 2;
      continue;
    }
    const bool braced = replacement[at + 1] == '{';
    const std::size_t begin = at + (braced ? 2 : 1);
    std::size_t end = begin;
    while (end < replacement.size() && word(replacement[end])) ++end;
    if (end == begin || (braced && (end >= replacement.size() || replacement[end] != '}'))) {
      out += replacement[at++];
      continue;
    }
    const std::string name(replacement.substr(begin, end - begin));
    at = end + (braced ? 1 : 0);
    const bool numeric = std::all_of(name.begin(), name.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
    const auto named = names.find(name);
    std::size_t index = groups.size();
    if (numeric && name.size() < 6)
      index = static_cast<std::size_t>(std::stoi(name));
    else if (named != names.end())
      index = static_cast<std::size_t>(named->second);
    if (index < groups.size() && groups[index].data() != nullptr) out.append(groups[index].data(), groups[index].size());
  }
  return out;
}

Outcome replace_all(const std::string& pattern, const std::string& replacement, const std::string& text) {
  const auto regex = compile(pattern);
  if (!regex->ok()) return RunError{fmt::format("regexp: Compile(`{}`): {}", printable(pattern), regex->error())};
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(regex->NumberOfCapturingGroups()) + 1);
  std::string out;
  std::size_t at = 0;
  std::size_t last_end = std::string::npos;
  while (at <= text.size() && out.size() <= kMostOutput && regex->Match(text, at, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const auto end = begin + groups[0].size();
    out.append(text, at, begin - at);
    // An empty match directly behind the one before counts for nothing.
    if (!(groups[0].empty() && begin == last_end)) out += expand(replacement, groups, regex->NamedCapturingGroups());
    last_end = end;
    at = end;
    if (groups[0].empty()) {
      if (at < text.size()) out += text[at];
      ++at;
    }
  }
  if (at < text.size()) out.append(text, at);
  return Value(std::move(out));
}

Outcome match(const std::string& pattern, const std::string& text) {
  const auto regex = compile(pattern);
  if (!regex->ok()) return RunError{"error parsing regexp: " + regex->error()};
  return Value(RE2::PartialMatch(text, *regex));
}

// net.SplitHostPort, or the text as it is when that would fail.
std::string strip_port(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return text;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string::npos || close + 1 != colon) return text;
    const auto host = text.substr(1, close - 1);
    return host.find_first_of("[]") == std::string::npos && text.find('[', 1) == std::string::npos ? host : text;
  }
  const auto host = text.substr(0, colon);
  return host.find(':') == std::string::npos && text.find_first_of("[]") == std::string::npos ? host : text;
}

// Comparison as in text/template: equal basic kinds only. nullopt: not comparable.
std::optional<std::partial_ordering> compare(const Value& a, const Value& b) {
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* x = std::get_if<std::int64_t>(&a)) return *x <=> std::get<std::int64_t>(b);
  if (const auto* x = std::get_if<double>(&a)) return *x <=> std::get<double>(b);
  if (const auto* x = std::get_if<std::string>(&a)) return *x <=> std::get<std::string>(b);
  return std::nullopt;
}
RunError incomparable(const Value& a, const Value& b) {
  const bool basic = a.index() >= 1 && a.index() <= 4 && b.index() >= 1 && b.index() <= 4;
  return {fmt::format("{} ({} and {})", basic && a.index() != b.index() ? "incompatible types for comparison" : "invalid type for comparison", go_type(a), go_type(b))};
}
Outcome equal(const Arguments& a) {
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (a[0].index() != a[i].index() || a[0].index() < 1 || a[0].index() > 4) return incomparable(a[0], a[i]);
    if (const auto* flag = std::get_if<bool>(&a[0]); flag != nullptr ? *flag == std::get<bool>(a[i]) : compare(a[0], a[i]) == std::partial_ordering::equivalent) return Value(true);
  }
  return Value(false);
}
Outcome not_equal(const Arguments& a) {
  Outcome same = equal(a);
  if (auto* value = std::get_if<Value>(&same)) *value = !std::get<bool>(*value);
  return same;
}
// Go makes gt and ge of le and lt, so they hold for a NaN.
bool not_at_most(std::partial_ordering order) { return !std::is_lteq(order); }
bool not_less(std::partial_ordering order) { return !std::is_lt(order); }
template <auto F>
Outcome ordered(const Arguments& a) {
  const auto order = compare(a[0], a[1]);
  if (!order) return incomparable(a[0], a[1]);
  return Value(F(*order));
}

Outcome length(const Arguments& a) {
  if (const auto* text = std::get_if<std::string>(&a[0])) return Value(static_cast<std::int64_t>(text->size()));
  if (const auto* labels = std::get_if<const Labels*>(&a[0])) return Value(static_cast<std::int64_t>((*labels)->size()));
  return RunError{fmt::format("len of type {}", go_type(a[0]))};
}
Outcome index(const Arguments& a) {
  Value at = a[0];
  for (std::size_t i = 1; i < a.size(); ++i) {
    const auto* labels = std::get_if<const Labels*>(&at);
    const auto* key = std::get_if<std::string>(&a[i]);
    if (labels != nullptr && key == nullptr) return RunError{fmt::format("value has type {}; should be string", go_type(a[i]))};
    if (labels == nullptr) return RunError{fmt::format("can't index item of type {}", go_type(at))};
    at = std::string((*labels)->get(*key));
  }
  return at;
}
Outcome print_format(const Arguments& a) {
  const auto* format = std::get_if<std::string>(&a[0]);
  if (format == nullptr) return RunError{fmt::format("wrong type for value; expected string; got {}", go_type(a[0]))};
  return Value(go_printf(*format, std::span(a).subspan(1)));
}

constexpr std::size_t kAny = 64;
const Function kFunctions[] = {
    {"humanize", 1, 1, on_float<humanize>},
    {"humanize1024", 1, 1, on_float<humanize1024>},
    {"humanizeDuration", 1, 1, on_float<humanize_duration>},
    {"humanizePercentage", 1, 1, on_float<humanize_percentage>},
    {"humanizeTimestamp", 1, 1, on_float<humanize_timestamp>},
    {"title", 1, 1, [](const Arguments& a) { return on_texts<1>(a, [](const std::string& s) { return Value(title(s)); }); }},
    {"toUpper", 1, 1, [](const Arguments& a) { return on_texts<1>(a, [](const std::string& s) { return Value(map_case(s, towupper_l)); }); }},
    {"toLower", 1, 1, [](const Arguments& a) { return on_texts<1>(a, [](const std::string& s) { return Value(map_case(s, towlower_l)); }); }},
    {"match", 2, 2, [](const Arguments& a) { return on_texts<2>(a, match); }},
    {"reReplaceAll", 3, 3, [](const Arguments& a) { return on_texts<3>(a, replace_all); }},
    {"stripPort", 1, 1, [](const Arguments& a) { return on_texts<1>(a, [](const std::string& s) { return Value(strip_port(s)); }); }},
    {"printf", 1, kAny, print_format},
    {"eq", 2, kAny, equal},
    {"ne", 2, 2, not_equal},
    {"lt", 2, 2, ordered<std::is_lt>},
    {"le", 2, 2, ordered<std::is_lteq>},
    {"gt", 2, 2, ordered<not_at_most>},
    {"ge", 2, 2, ordered<not_less>},
    {"and", 1, kAny, nullptr},
    {"or", 1, kAny, nullptr},
    {"not", 1, 1, [](const Arguments& a) { return Outcome(Value(!truth(a[0]))); }},
    {"len", 1, 1, length},
    {"index", 1, kAny, index},
};

constexpr std::string_view kRefused[] = {
    "args",  "call",        "externalURL", "first",   "graphLink", "html",        "js",        "label",     "now",   "parseDuration", "pathPrefix", "print",   "println",
    "query", "safeHtml",    "slice",       "sortByLabel", "stripDomain", "strvalue", "tableLink", "tmpl",   "toTime", "urlQueryEscape", "urlquery", "value",
};

}  // namespace

const Function* find_function(std::string_view name) {
  for (const Function& function : kFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

bool is_refused_function(std::string_view name) { return std::find(std::begin(kRefused), std::end(kRefused), name) != std::end(kRefused); }

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> out;
  for (const Function& function : kFunctions) out.push_back(function.name);
  return out;
}

std::string regex_fault(const std::string& pattern) {
  const auto regex = compile(pattern);
  return regex->ok() ? "" : regex->error();
}

}  // namespace rdmend::rules
