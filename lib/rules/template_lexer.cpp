// SPDX-License-Identifier: Apache-2.0
#include "rules/template_lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace rdmend::rules {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
bool blank(char c) { return kBlank.find(c) != std::string_view::npos; }
bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0U | point >> 6U);
    out += static_cast<char>(0x80U | (point & 0x3fU));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0U | point >> 12U);
    out += static_cast<char>(0x80U | (point >> 6U & 0x3fU));
    out += static_cast<char>(0x80U | (point & 0x3fU));
  } else {
    out += static_cast<char>(0xf0U | point >> 18U);
    out += static_cast<char>(0x80U | (point >> 12U & 0x3fU));
    out += static_cast<char>(0x80U | (point >> 6U & 0x3fU));
    out += static_cast<char>(0x80U | (point & 0x3fU));
  }
}

// Go's strconv.Unquote of what stands between double quotes; false for an escape that it has not.
bool unquote(std::string_view inner, std::string& out) {
  constexpr std::string_view kNames = "abfnrtv\\\"";
  constexpr std::string_view kMeans = "\a\b\f\n\r\t\v\\\"";
  for (std::size_t at = 0; at < inner.size(); ++at) {
    if (inner[at] != '\\') {
      out += inner[at];
      continue;
    }
    if (++at >= inner.size()) return false;
    const char kind = inner[at];
    if (const auto simple = kNames.find(kind); simple != std::string_view::npos) {
      out += kMeans[simple];
      continue;
    }
    const bool octal = kind >= '0' && kind <= '7';
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : octal ? 3 : 0;
    const std::string code(inner.substr(octal ? at : at + 1, digits));
    const bool sound = code.size() == digits && digits > 0 && std::all_of(code.begin(), code.end(), [&](char c) { return octal ? c >= '0' && c <= '7' : std::isxdigit(static_cast<unsigned char>(c)) != 0; });
    if (!sound) return false;
    const auto point = static_cast<std::uint32_t>(std::stoul(code, nullptr, octal ? 8 : 16));
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000) || (octal && point > 255)) return false;
    if (kind == 'u' || kind == 'U')
      append_utf8(out, point);
    else
      out += static_cast<char>(point);
    at += octal ? digits - 1 : digits;
  }
  return true;
}

}  // namespace

Position Lexer::position(std::size_t offset) const {
  const auto before = source_.substr(0, offset);
  const auto last = before.rfind('\n');
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<std::uint32_t>(offset - (last == std::string_view::npos ? 0 : last + 1)) + 1};
}

std::string Lexer::text() {
  const auto action = source_.find("{{", at_);
  std::string_view text = source_.substr(at_, action == std::string_view::npos ? std::string_view::npos : action - at_);
  at_ += text.size();
  if (std::exchange(trim_next_, false)) text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlank)));
  const bool trims = action != std::string_view::npos && source_.substr(action + 2).starts_with('-') && action + 3 < source_.size() && blank(source_[action + 3]);
  if (trims) text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  return std::string(text);
}

// The offset of the "}}" that ends the action whose inside begins at `begin`, quotes skipped; the end of the source if none.
std::size_t Lexer::action_end(std::size_t begin) {
  for (std::size_t at = begin; at < source_.size(); ++at) {
    if (source_.substr(at).starts_with("}}")) return at;
    const char quote = source_[at];
    if (quote != '"' && quote != '`') continue;
    for (++at; at < source_.size() && source_[at] != quote; ++at) {
      if (quote == '"' && source_[at] == '\n') break;
      if (quote == '"' && source_[at] == '\\') ++at;
    }
  }
  return source_.size();
}

void Lexer::open() {
  tokens_.clear();
  next_ = 0;
  comment_ = false;
  const std::size_t begin = at_;
  at_ += 2;
  if (at_ + 1 < source_.size() && source_[at_] == '-' && blank(source_[at_ + 1])) ++at_;
  const auto inside = source_.find_first_not_of(kBlank, at_);
  std::size_t end = 0;
  if (inside != std::string_view::npos && source_.substr(inside).starts_with("/*")) {
    comment_ = true;
    const auto stop = source_.find("*/", inside + 2);
    end = stop == std::string_view::npos ? source_.size() : source_.find("}}", stop + 2);
    const auto rest = end >= source_.size() ? std::string_view("x") : trim(source_.substr(stop + 2, end - stop - 2));
    if (end < source_.size() && !rest.empty() && rest != "-") faults_.push_back({position(inside), "a comment stands alone between {{ and }}", {}});
  } else {
    end = action_end(at_);
  }
  if (end >= source_.size()) {
    faults_.push_back({position(begin), "'{{' without its }}", {}});
    at_ = source_.size();
    tokens_.push_back({Token::Kind::close, "", position(begin), false});
    return;
  }
  const bool trims = end > begin + 3 && source_[end - 1] == '-' && blank(source_[end - 2]);
  const std::size_t last = trims ? end - 1 : end;
  if (comment_) at_ = last;
  while (at_ < last && tokens_.size() < 1000) token(last);
  if (at_ < last) faults_.push_back({position(at_), "more than 1000 words in one action", {}});
  tokens_.push_back({Token::Kind::close, "}}", position(end), false});
  at_ = end + 2;
  trim_next_ = trims;
}

void Lexer::add(Token::Kind kind, std::size_t begin, std::size_t end) {
  const bool joined = begin > 0 && !blank(source_[begin - 1]);
  tokens_.push_back({kind, std::string(source_.substr(begin, end - begin)), position(begin), joined});
  at_ = end;
}

void Lexer::quoted(std::size_t end) {
  const std::size_t begin = at_;
  std::size_t stop = begin + 1;
  while (stop < end && source_[stop] != '"' && source_[stop] != '\n') stop += source_[stop] == '\\' ? 2 : 1;
  std::string value;
  if (stop >= end || source_[stop] != '"') {
    faults_.push_back({position(begin), "the quote is never closed", {}});
    at_ = end;
    return;
  }
  if (!unquote(source_.substr(begin + 1, stop - begin - 1), value)) faults_.push_back({position(begin), "an unknown escape in a text", "legal are: \\n \\t \\r \\\\ \\\" \\xNN \\uNNNN"});
  add(Token::Kind::text, begin, stop + 1);
  tokens_.back().text = std::move(value);
}

void Lexer::raw(std::size_t end) {
  const std::size_t begin = at_;
  const auto stop = source_.find('`', begin + 1);
  if (stop == std::string_view::npos || stop >= end) {
    faults_.push_back({position(begin), "the quote is never closed", {}});
    at_ = end;
    return;
  }
  add(Token::Kind::text, begin, stop + 1);
  tokens_.back().text = source_.substr(begin + 1, stop - begin - 1);
}

void Lexer::token(std::size_t end) {
  const std::size_t begin = at_;
  const char c = source_[begin];
  const char follow = begin + 1 < end ? source_[begin + 1] : '\0';
  std::size_t stop = begin + 1;
  const auto word = [&] {
    while (stop < end && word_letter(source_[stop])) ++stop;
  };
  if (blank(c)) {
    ++at_;
  } else if (c == '"') {
    quoted(end);
  } else if (c == '`') {
    raw(end);
  } else if (digit(c) || ((c == '-' || c == '+') && (digit(follow) || follow == '.')) || (c == '.' && digit(follow))) {
    while (stop < end && (word_letter(source_[stop]) || source_[stop] == '.' || ((source_[stop] == '-' || source_[stop] == '+') && (source_[stop - 1] == 'e' || source_[stop - 1] == 'E')))) ++stop;
    add(Token::Kind::number, begin, stop);
  } else if (c == '.' && word_letter(follow)) {
    word();
    add(Token::Kind::field, begin, stop);
    tokens_.back().text.erase(0, 1);
  } else if (c == '$') {
    word();
    add(Token::Kind::variable, begin, stop);
  } else if (word_letter(c)) {
    word();
    add(Token::Kind::word, begin, stop);
  } else if (c == ':' && follow == '=') {
    add(Token::Kind::declare, begin, begin + 2);
  } else {
    using enum Token::Kind;
    constexpr std::string_view kSigns = ".()|,=";
    constexpr Token::Kind kKinds[] = {dot, left, right, pipe, comma, assign};
    const auto sign = kSigns.find(c);
    add(sign == std::string_view::npos ? other : kKinds[sign], begin, stop);
  }
}

Token Lexer::next() { return next_ + 1 < tokens_.size() ? tokens_[next_++] : tokens_[next_]; }

bool Lexer::declares() const {
  for (std::size_t i = next_; i < tokens_.size(); ++i) {
    const auto kind = tokens_[i].kind;
    if (kind == Token::Kind::declare || kind == Token::Kind::assign) return true;
    if (kind != Token::Kind::variable && kind != Token::Kind::comma) return false;
  }
  return false;
}

}  // namespace rdmend::rules
