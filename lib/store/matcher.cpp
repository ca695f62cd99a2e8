// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.hpp"
#include "store/store.hpp"

namespace rdmend::store {

struct Matcher::Regex {
  enum class Shape { everything, something, compiled };
  Shape shape = Shape::compiled;
  std::unique_ptr<RE2> compiled;

  [[nodiscard]] bool matches(std::string_view value) const {
    switch (shape) {
      case Shape::everything:
        return true;
      case Shape::something:
        return !value.empty();
      case Shape::compiled:
        break;
    }
    return RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *compiled);
  }
};

Result<Matcher> Matcher::make(Op op, std::string name, std::string value) {
  Matcher matcher;
  matcher.op_ = op;
  if (op == Op::regex || op == Op::not_regex) {
    auto regex = std::make_shared<Regex>();
    if (value == ".*") {
      regex->shape = Regex::Shape::everything;
    } else if (value == ".+") {
      regex->shape = Regex::Shape::something;
    } else {
      RE2::Options options;
      options.set_log_errors(false);
      options.set_dot_nl(true);      // Prometheus 3: '.' matches a newline too
      options.set_max_mem(1 << 20);  // of the cached automaton; beyond it RE2 gets slower, not larger
      regex->compiled = std::make_unique<RE2>(value, options);
      if (!regex->compiled->ok())
        return Error{
            fmt::format("'{}' is not a regular expression: {}", printable(value), regex->compiled->error())};
    }
    matcher.regex_ = std::move(regex);
  }
  matcher.name_ = std::move(name);
  matcher.value_ = std::move(value);
  return matcher;
}

bool Matcher::matches(std::string_view value) const {
  switch (op_) {
    case Op::equal:
      return value == value_;
    case Op::not_equal:
      return value != value_;
    case Op::regex:
      return regex_->matches(value);
    case Op::not_regex:
      break;
  }
  return !regex_->matches(value);
}

}  // namespace rdmend::store
