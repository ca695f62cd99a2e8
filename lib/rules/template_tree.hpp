// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostic.hpp"
#include "rules/template.hpp"

// The parsed form of a template, inside this room only.
namespace rdmend::rules {

struct Function;
struct Pipeline;

// What a command is made of: a constant, the dot, a variable, a function's name or a pipeline in parentheses; the middle
// ones with a chain of fields.
struct Operand {
  enum class Kind { text, whole, number, boolean, nil, dot, variable, function, pipeline };
  Kind kind = Kind::nil;
  Position at;
  std::string text;  // of a text, a variable's name
  std::int64_t whole = 0;
  double number = 0;
  bool boolean = false;
  const Function* function = nullptr;
  std::shared_ptr<const Pipeline> pipeline;
  std::vector<std::string> fields;
};
struct Command {
  std::vector<Operand> operands;
  Position at;
};
struct Pipeline {
  std::vector<std::string> variables;  // declared or assigned; two only in a range
  bool assigns = false;                // "=" rather than ":="
  std::vector<Command> commands;
};

struct Piece {
  enum class Kind { text, print, branch, with, range };
  Kind kind = Kind::text;
  Position at;
  std::string text;
  Pipeline pipeline;
  std::vector<Piece> body, otherwise;
};

struct Template::Tree {
  std::vector<Piece> pieces;
};

// A value of the template language. Labels are its maps; Root is the data that the dot begins with.
struct Root {};
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, const Labels*, Root>;

struct RunError {
  std::string what;
};
using Outcome = std::variant<Value, RunError>;

struct Function {
  std::string_view name;
  std::size_t least, most;  // arguments
  Outcome (*call)(const std::vector<Value>& arguments);  // null for and/or, which the runner does itself
};
const Function* find_function(std::string_view name);
// Functions that Prometheus or Go have and rdmend has not.
bool is_refused_function(std::string_view name);
std::vector<std::string_view> function_names();
// "" or what is wrong with a regular expression.
std::string regex_fault(const std::string& pattern);

// Go's fmt, as far as rules need it.
std::string go_text(const Value& value);                                       // %v
std::string go_type(const Value& value);                                       // float64
std::string go_printf(std::string_view format, std::span<const Value> arguments);
std::string go_float(double value, char verb, int precision);                  // precision -1: shortest
// The first verb of a format that go_printf has not; 0 when there is none.
char unknown_verb(std::string_view format);
bool truth(const Value& value);

inline constexpr std::size_t kMostOutput = std::size_t{64} * 1024;
inline constexpr std::size_t kMostDepth = 32;
inline constexpr std::size_t kMostSteps = 100'000;
inline constexpr int kMostWidth = 1000;

}  // namespace rdmend::rules
