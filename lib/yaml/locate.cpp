// SPDX-License-Identifier: Apache-2.0
// From a character of a scalar's text back to where it stands in the file. The text is walked beside the source by the rules
// that made it; a source that does not fit the text gives up rather than guess.
#include <algorithm>
#include <optional>

#include "yaml/document.hpp"

namespace rdmend::yaml {
namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

class Walk {
 public:
  Walk(std::string_view source, std::size_t begin, std::string_view text) : source_(source), at_(begin), text_(text) {}

  // Source offsets of text[0..n], the last one just behind the end.
  std::optional<std::vector<std::size_t>> run() {
    skip_properties();
    const char first = peek();
    bool fits = false;
    if (first == '"')
      fits = quoted('"');
    else if (first == '\'')
      fits = quoted('\'');
    else if (first == '|' || first == '>')
      fits = block();
    else
      fits = flow_text([](char) { return false; });
    if (!fits) return std::nullopt;
    offsets_.push_back(at_);
    return offsets_;
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  [[nodiscard]] bool done() const { return offsets_.size() == text_.size(); }
  void emit(std::size_t offset) { offsets_.push_back(offset); }

  void skip_properties() {
    while (peek() == '!' || peek() == '&') {
      while (at_ < source_.size() && !blank(peek()) && peek() != '\n') ++at_;
      while (at_ < source_.size() && (blank(peek()) || peek() == '\n')) ++at_;
    }
  }

  // A line break inside a flow scalar: n breaks stand for a space (n = 1) or n - 1 newlines.
  bool fold() {
    std::size_t breaks = 0;
    const std::size_t where = at_;
    while (blank(peek()) || peek() == '\r' || peek() == '\n') breaks += source_[at_++] == '\n' ? 1 : 0;
    const std::size_t made = std::max<std::size_t>(1, breaks - 1);
    const char expected = breaks == 1 ? ' ' : '\n';
    for (std::size_t i = 0; i < made; ++i) {
      if (done() || text_[offsets_.size()] != expected) return false;
      emit(where);
    }
    return true;
  }
  [[nodiscard]] bool at_break() const {
    const auto next = source_.find_first_not_of(" \t\r", at_);
    return next != std::string_view::npos && source_[next] == '\n';
  }

  template <class Ends>
  bool flow_text(Ends ends) {
    while (!done()) {
      if (at_ >= source_.size() || ends(peek())) return false;
      if (at_break()) {
        if (!fold()) return false;
        continue;
      }
      if (peek() != text_[offsets_.size()]) return false;
      emit(at_++);
    }
    return true;
  }

  bool quoted(char quote) {
    ++at_;
    while (!done()) {
      if (at_ >= source_.size()) return false;
      if (quote == '\'' && peek() == '\'' && peek(1) == '\'') {
        emit(at_);
        at_ += 2;
      } else if (peek() == quote) {
        return false;
      } else if (quote == '"' && peek() == '\\') {
        if (!escape()) return false;
      } else if (at_break()) {
        if (!fold()) return false;
      } else {
        emit(at_++);
      }
    }
    return true;
  }

  bool escape() {
    const std::size_t where = at_++;
    const char kind = source_.size() > at_ ? source_[at_++] : '\0';
    if (kind == '\n') {  // an escaped break joins the lines
      while (blank(peek())) ++at_;
      return true;
    }
    std::size_t digits = 0;
    if (kind == 'x') digits = 2;
    if (kind == 'u') digits = 4;
    if (kind == 'U') digits = 8;
    std::size_t bytes = 1;
    if (digits > 0) {
      const std::string code(source_.substr(at_, digits));
      const unsigned long point = std::strtoul(code.c_str(), nullptr, 16);
      bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      at_ += digits;
    } else if (kind == 'L' || kind == 'P') {
      bytes = 3;
    }
    for (std::size_t i = 0; i < bytes && !done(); ++i) emit(where);
    return true;
  }

  bool block() {
    std::size_t indent = 0;
    const std::size_t parent = line_indent(at_);
    while (at_ < source_.size() && peek() != '\n') {
      if (peek() == '#') break;
      if (peek() >= '1' && peek() <= '9') indent = parent + static_cast<std::size_t>(peek() - '0');
      ++at_;
    }
    next_line();
    if (indent == 0) indent = detect_indent();
    while (!done()) {
      if (at_ >= source_.size()) return false;
      if (!block_line(indent)) return false;
    }
    return true;
  }
  bool block_line(std::size_t indent) {
    std::size_t skipped = 0;
    while (skipped < indent && peek() == ' ') {
      ++at_;
      ++skipped;
    }
    // The line's own characters stand for themselves; a break is a newline, or in a folded block a space, or nothing.
    while (!done() && at_ < source_.size() && peek() != '\n' && peek() != '\r') {
      if (peek() != text_[offsets_.size()]) return false;
      emit(at_++);
    }
    const std::size_t end = at_;
    next_line();
    if (!done() && (text_[offsets_.size()] == '\n' || text_[offsets_.size()] == ' ') && !swallowed_break(indent)) emit(end);
    return true;
  }
  // In a folded block the first of several breaks between two text lines leaves no character.
  [[nodiscard]] bool swallowed_break(std::size_t indent) const {
    if (text_[offsets_.size()] != '\n') return false;
    // As many newlines left in the text here as source breaks left before the next text line: none was swallowed.
    std::size_t breaks = 1;
    std::size_t at = at_;
    while (at < source_.size()) {
      const auto next = source_.find_first_not_of(" \r", at);
      if (next == std::string_view::npos || source_[next] != '\n' || next - at > indent + 1) break;
      ++breaks;
      at = next + 1;
    }
    const auto end = text_.find_first_not_of('\n', offsets_.size());
    if (end == std::string_view::npos) return false;
    return end - offsets_.size() < breaks;
  }
  void next_line() {
    while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    if (at_ < source_.size()) ++at_;
  }
  // The indentation of the line that offset stands in, a "- " counting as indentation.
  [[nodiscard]] std::size_t line_indent(std::size_t offset) const {
    const auto begin = source_.rfind('\n', offset) == std::string_view::npos ? 0 : source_.rfind('\n', offset) + 1;
    std::size_t at = begin;
    while (at < source_.size() && (source_[at] == ' ' || (source_[at] == '-' && at + 1 < source_.size() && source_[at + 1] == ' '))) ++at;
    return at - begin;
  }
  [[nodiscard]] std::size_t detect_indent() const {
    std::size_t line = at_;
    while (line < source_.size()) {
      const auto text = source_.find_first_not_of(' ', line);
      if (text == std::string_view::npos) return 0;
      if (source_[text] != '\n' && source_[text] != '\r') return text - line;
      line = source_.find('\n', text) + 1;
    }
    return 0;
  }

  std::string_view source_;
  std::size_t at_;
  std::string_view text_;
  std::vector<std::size_t> offsets_;
};

std::size_t offset_of(std::string_view text, Position inside) {
  std::size_t at = 0;
  for (std::uint32_t line = 1; line < inside.line; ++line) {
    const auto next = text.find('\n', at);
    if (next == std::string_view::npos) return text.size();
    at = next + 1;
  }
  return std::min(text.size(), at + (inside.column > 0 ? inside.column - 1 : 0));
}

Position position_of(std::string_view source, std::size_t offset) {
  const auto before = source.substr(0, offset);
  const auto last = before.rfind('\n');
  const auto begin = last == std::string_view::npos ? 0 : last + 1;
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<std::uint32_t>(offset - begin) + 1};
}

}  // namespace

Position locate(const std::string& source, const Node& scalar, Position inside) {
  if (scalar.kind != Node::Kind::scalar || scalar.offset >= source.size()) return scalar.at;
  const std::size_t wanted = offset_of(scalar.text, inside);
  const auto offsets = Walk(source, scalar.offset, scalar.text).run();
  if (!offsets) return scalar.at;
  return position_of(source, (*offsets)[wanted]);
}

}  // namespace rdmend::yaml
