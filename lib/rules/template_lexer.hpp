// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "promql/promql.hpp"

namespace rdmend::rules {

struct Token {
  enum class Kind { text, number, dot, field, variable, word, left, right, pipe, comma, declare, assign, close, other };
  Kind kind = Kind::other;
  std::string text;  // of a text: unquoted; of a field: without the dot
  Position at;
  bool joined = false;  // no blank before it: ".a.b" is one operand, ".a .b" two
};

// Splits a template into texts and the tokens of the actions between them.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  // The text up to the next action (or the end), trimmed where {{- or -}} asks for it.
  std::string text();
  [[nodiscard]] bool at_end() const { return at_ >= source_.size(); }
  // Reads the action that begins here into tokens, the last of them `close`.
  void open();
  [[nodiscard]] bool was_comment() const { return comment_; }
  [[nodiscard]] const Token& peek() const { return tokens_[next_]; }
  Token next();
  // Whether what comes is a declaration or assignment: variables before ":=" or "=".
  [[nodiscard]] bool declares() const;
  void close() { next_ = 0; }
  void skip_action() { close(); }
  std::vector<promql::ParseError> take_faults() { return std::move(faults_); }

 private:
  [[nodiscard]] Position position(std::size_t offset) const;
  void token(std::size_t end);
  void quoted(std::size_t end);
  void raw(std::size_t end);
  void add(Token::Kind kind, std::size_t begin, std::size_t end);
  [[nodiscard]] std::size_t action_end(std::size_t begin);

  std::string_view source_;
  std::size_t at_ = 0;
  bool trim_next_ = false;
  bool comment_ = false;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::vector<promql::ParseError> faults_;
};

}  // namespace rdmend::rules
