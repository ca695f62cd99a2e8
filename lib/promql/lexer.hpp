// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "promql/promql.hpp"

namespace rdmend::promql {

struct Token {
  enum class Kind {
    end,
    identifier,
    number,
    duration,
    string,
    left_paren,
    right_paren,
    left_brace,
    right_brace,
    left_bracket,
    right_bracket,
    comma,
    colon,
    at,
    assign,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    match_regex,
    match_not_regex,
    add,
    sub,
    mul,
    div,
    mod,
    pow,
  };
  Kind kind = Kind::end;
  std::string_view text;  // as written
  Position at;
};

// The tokens of an expression, the last of kind `end`; or the fault that stopped the lexer.
std::variant<std::vector<Token>, ParseError> tokenize(std::string_view text);

// What a quoted string means, in Go's syntax; nullopt when an escape is not one of Go's.
std::optional<std::string> unquote(std::string_view quoted);
// The text in double quotes, so that it reads back.
std::string quote(std::string_view text);
// A number as Prometheus' lexer takes it: decimal, hexadecimal, octal with a leading 0, Inf, NaN.
std::optional<double> parse_number(std::string_view text);

}  // namespace rdmend::promql
