// SPDX-License-Identifier: Apache-2.0
#include "promql/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace rdmend::promql {
namespace {

using Kind = Token::Kind;

struct Symbol {
  std::string_view text;
  Kind kind;
};
// Longer ones first.
constexpr std::array<Symbol, 23> kSymbols{{{"==", Kind::equal},
                                           {"!=", Kind::not_equal},
                                           {"<=", Kind::less_equal},
                                           {">=", Kind::greater_equal},
                                           {"=~", Kind::match_regex},
                                           {"!~", Kind::match_not_regex},
                                           {"<", Kind::less},
                                           {">", Kind::greater},
                                           {"=", Kind::assign},
                                           {"+", Kind::add},
                                           {"-", Kind::sub},
                                           {"*", Kind::mul},
                                           {"/", Kind::div},
                                           {"%", Kind::mod},
                                           {"^", Kind::pow},
                                           {"(", Kind::left_paren},
                                           {")", Kind::right_paren},
                                           {"{", Kind::left_brace},
                                           {"}", Kind::right_brace},
                                           {"[", Kind::left_bracket},
                                           {"]", Kind::right_bracket},
                                           {",", Kind::comma},
                                           {"@", Kind::at}}};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::variant<std::vector<Token>, ParseError> run() {
    while (skip_blanks(), at_ < text_.size()) {
      if (auto fault = next()) return *fault;
    }
    tokens_.push_back({Kind::end, {}, position(at_)});
    return std::move(tokens_);
  }

 private:
  using Fault = std::optional<ParseError>;

  [[nodiscard]] Position position(std::size_t at) const {
    return {line_, static_cast<std::uint32_t>(at - line_start_ + 1)};
  }
  Fault take(Kind kind, std::size_t length) {
    const auto where = position(at_);
    const auto taken = text_.substr(at_, length);
    for (std::size_t i = 0; i < length; ++i)  // a raw string may hold line ends
      if (taken[i] == '\n') start_line(at_ + i + 1);
    tokens_.push_back({kind, taken, where});
    at_ += length;
    return std::nullopt;
  }
  void start_line(std::size_t at) {
    ++line_;
    line_start_ = at;
  }
  void skip_blanks();
  Fault next();
  Fault word();
  Fault number();
  Fault string();
  Fault symbol();
  [[nodiscard]] std::size_t duration_length() const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_start_ = 0;
  int brackets_ = 0;  // inside [] a ':' stands alone, elsewhere it belongs to a name
  std::vector<Token> tokens_;
};

void Lexer::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#')
      at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
    else if (c == '\n')
      start_line(at_ + 1);
    else if (c != ' ' && c != '\t' && c != '\r')
      return;
  }
}

Lexer::Fault Lexer::next() {
  const char c = text_[at_];
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
  if (c == '"' || c == '\'' || c == '`') return string();
  if (c == ':' && brackets_ > 0) return take(Kind::colon, 1);
  if (is_word(c) || c == ':') return word();
  return symbol();
}

Lexer::Fault Lexer::word() {
  std::size_t length = 1;
  while (at_ + length < text_.size() &&
         (is_word(text_[at_ + length]) || (text_[at_ + length] == ':' && brackets_ == 0)))
    ++length;
  std::string lower(text_.substr(at_, length));
  for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return take(lower == "inf" || lower == "nan" ? Kind::number : Kind::identifier, length);
}

std::size_t Lexer::duration_length() const {
  std::size_t length = 0;
  while (at_ + length < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_ + length])) != 0)
    ++length;
  return length;
}

Lexer::Fault Lexer::number() {
  if (const auto length = duration_length();
      parse_duration(text_.substr(at_, length)) && text_.substr(at_, length) != "0")
    return take(Kind::duration, length);
  std::size_t length = 0;
  const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
  const auto more = [&] { return at_ + length < text_.size(); };
  while (more() && (is_word(text_[at_ + length]) || text_[at_ + length] == '.')) {
    ++length;
    const char last = text_[at_ + length - 1];
    if (!hex && (last == 'e' || last == 'E') && more() &&
        (text_[at_ + length] == '+' || text_[at_ + length] == '-'))
      ++length;
  }
  if (!parse_number(text_.substr(at_, length)))
    return ParseError{
        position(at_),
        fmt::format("'{}' is neither a number nor a duration", printable(text_.substr(at_, length), 40)),
        "numbers are like 5, 0.5, 1e6, 0xff, Inf; durations like 5m, 1h30m"};
  return take(Kind::number, length);
}

Lexer::Fault Lexer::string() {
  const char quote_mark = text_[at_];
  std::size_t length = 1;
  for (;; ++length) {
    if (at_ + length >= text_.size() || (text_[at_ + length] == '\n' && quote_mark != '`'))
      return ParseError{position(at_), "the string is not closed",
                        fmt::format("it needs another {}", quote_mark)};
    if (text_[at_ + length] == quote_mark) break;
    if (text_[at_ + length] == '\\' && quote_mark != '`' && at_ + length + 1 < text_.size() &&
        text_[at_ + length + 1] != '\n')
      ++length;
  }
  if (!unquote(text_.substr(at_, length + 1)))
    return ParseError{position(at_),
                      fmt::format("the string {} has an escape that Go does not know",
                                  printable(text_.substr(at_, length + 1), 60)),
                      "write a backslash as \\\\, or use `...`"};
  return take(Kind::string, length + 1);
}

Lexer::Fault Lexer::symbol() {
  for (const auto& candidate : kSymbols) {
    if (!text_.substr(at_).starts_with(candidate.text)) continue;
    if (candidate.kind == Kind::left_bracket) ++brackets_;
    if (candidate.kind == Kind::right_bracket && brackets_ > 0) --brackets_;
    return take(candidate.kind, candidate.text.size());
  }
  return ParseError{position(at_), fmt::format("unexpected character '{}'", printable(text_.substr(at_, 1))),
                    ""};
}

void append_utf8(std::string& out, std::uint32_t rune) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (rune < 0x80) {
    byte(rune);
  } else if (rune < 0x800) {
    byte(0xc0 | rune >> 6);
    byte(0x80 | (rune & 0x3f));
  } else if (rune < 0x10000) {
    byte(0xe0 | rune >> 12);
    byte(0x80 | (rune >> 6 & 0x3f));
    byte(0x80 | (rune & 0x3f));
  } else {
    byte(0xf0 | rune >> 18);
    byte(0x80 | (rune >> 12 & 0x3f));
    byte(0x80 | (rune >> 6 & 0x3f));
    byte(0x80 | (rune & 0x3f));
  }
}

// `count` digits of `base` at the front of `text`, which is shortened by them.
std::optional<std::uint32_t> take_digits(std::string_view& text, std::size_t count, int base) {
  std::uint32_t value = 0;
  if (text.size() < count) return std::nullopt;
  const auto result = std::from_chars(text.data(), text.data() + count, value, base);
  if (result.ec != std::errc() || result.ptr != text.data() + count) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool unquote_escape(std::string_view& rest, char quote_mark, std::string& out) {
  constexpr std::string_view kNames = "abfnrtv\\", kMeanings = "\a\b\f\n\r\t\v\\";
  const char c = rest.front();
  if (c >= '0' && c <= '7') {
    const auto value = take_digits(rest, 3, 8);
    if (!value || *value > 255) return false;
    out += static_cast<char>(*value);
    return true;
  }
  rest.remove_prefix(1);
  if (c == quote_mark) {
    out += c;
  } else if (const auto known = kNames.find(c); known != std::string_view::npos) {
    out += kMeanings[known];
  } else if (c == 'x') {
    const auto value = take_digits(rest, 2, 16);
    if (!value) return false;
    out += static_cast<char>(*value);
  } else if (c == 'u' || c == 'U') {
    const auto value = take_digits(rest, c == 'u' ? 4 : 8, 16);
    if (!value || *value > 0x10ffff || (*value >= 0xd800 && *value < 0xe000)) return false;
    append_utf8(out, *value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::variant<std::vector<Token>, ParseError> tokenize(std::string_view text) {
  return Lexer(text).run();
}

std::optional<std::string> unquote(std::string_view quoted) {
  const char quote_mark = quoted.front();
  auto rest = quoted.substr(1, quoted.size() - 2);
  if (quote_mark == '`') return std::string(rest);
  std::string out;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\')
      out += c;
    else if (rest.empty() || !unquote_escape(rest, quote_mark, out))
      return std::nullopt;
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + '"';
}

std::optional<double> parse_number(std::string_view text) {
  std::string lower(text);
  for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "inf") return std::numeric_limits<double>::infinity();
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  const bool all_digits = lower.find_first_not_of("0123456789") == std::string::npos;
  int base = 10;
  std::string_view digits = lower;
  if (digits.starts_with("0x")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (all_digits && digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  const auto* end = digits.data() + digits.size();
  std::int64_t whole = 0;
  if (const auto result = std::from_chars(digits.data(), end, whole, base);
      result.ec == std::errc() && result.ptr == end && digits.front() != '-')
    return static_cast<double>(whole);
  if (base == 16 || lower.find_first_not_of("0123456789.e+-") != std::string::npos) return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  if (result.ptr != lower.data() + lower.size()) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) return std::nullopt;  // Go refuses 1e999 too
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace rdmend::promql
