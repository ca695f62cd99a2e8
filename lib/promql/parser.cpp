// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "promql/check.hpp"
#include "promql/functions.hpp"
#include "promql/lexer.hpp"

namespace rdmend::promql {
namespace {

using Kind = Token::Kind;
using NewNode = std::shared_ptr<Node>;

// What hostile input cannot exceed: parsing and evaluation recurse once a level of the tree.
constexpr std::size_t kMostBytes = std::size_t{32} * 1024;
constexpr std::size_t kMostDepth = 200;
constexpr std::size_t kMostFaults = 20;

struct OperatorRow {
  Kind kind;  // identifier: the operator is the word `text`
  std::string_view text;
  BinaryOp op;
  int precedence;
};
constexpr std::array<OperatorRow, 15> kOperators{{{Kind::identifier, "or", BinaryOp::or_, 1},
                                                  {Kind::identifier, "and", BinaryOp::and_, 2},
                                                  {Kind::identifier, "unless", BinaryOp::unless, 2},
                                                  {Kind::equal, "==", BinaryOp::equal, 3},
                                                  {Kind::not_equal, "!=", BinaryOp::not_equal, 3},
                                                  {Kind::less, "<", BinaryOp::less, 3},
                                                  {Kind::less_equal, "<=", BinaryOp::less_equal, 3},
                                                  {Kind::greater, ">", BinaryOp::greater, 3},
                                                  {Kind::greater_equal, ">=", BinaryOp::greater_equal, 3},
                                                  {Kind::add, "+", BinaryOp::add, 4},
                                                  {Kind::sub, "-", BinaryOp::sub, 4},
                                                  {Kind::mul, "*", BinaryOp::mul, 5},
                                                  {Kind::div, "/", BinaryOp::div, 5},
                                                  {Kind::mod, "%", BinaryOp::mod, 5},
                                                  {Kind::pow, "^", BinaryOp::pow, 6}}};
constexpr int kPowPrecedence = 6;

constexpr std::array<std::string_view, 12> kAggregates{"sum",   "min",     "max",      "avg",
                                                       "count", "group",   "stddev",   "stdvar",
                                                       "topk",  "bottomk", "quantile", "count_values"};

std::string lower(std::string_view word) {
  std::string out(word);
  for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string shown(const Token& token) {
  return token.kind == Kind::end ? "the end" : fmt::format("'{}'", printable(token.text, 40));
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  NewNode run() {
    auto root = expression(1);
    if (root && peek().kind != Kind::end) root = unexpected("an operator or the end");
    return root;
  }
  Faults& faults() { return faults_; }

 private:
  // --- tokens
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
  bool accept(Kind kind) {
    if (peek().kind != kind) return false;
    take();
    return true;
  }
  [[nodiscard]] bool is_word(std::string_view word, std::size_t ahead = 0) const {
    return peek(ahead).kind == Kind::identifier && lower(peek(ahead).text) == word;
  }
  bool accept_word(std::string_view word) {
    if (!is_word(word)) return false;
    take();
    return true;
  }
  // --- faults: a null node means that its fault is told
  NewNode fault(Position at, std::string what, std::string hint = {}) {
    faults_.push_back({at, std::move(what), std::move(hint)});
    return nullptr;
  }
  NewNode unexpected(std::string_view wanted) {
    return fault(peek().at, fmt::format("unexpected {}", shown(peek())), fmt::format("expected {}", wanted));
  }
  bool expect(Kind kind, std::string_view wanted) {
    if (accept(kind)) return true;
    unexpected(wanted);
    return false;
  }
  NewNode unsupported(Position at, std::string_view what) {
    return fault(at, fmt::format("{} is not supported by rdmend", what));
  }

  template <class T>
  NewNode make(Position at, ValueType type, T is, std::initializer_list<const NodePtr*> children = {});

  // --- grammar
  NewNode expression(int least_precedence);
  NewNode unary();
  NewNode postfix(NewNode node);
  NewNode primary();
  NewNode literal();
  NewNode parenthesised();
  NewNode selector();
  NewNode call();
  NewNode aggregate(AggregateOp op);
  NewNode binary(const NewNode& left, const OperatorRow& row);
  NewNode bracket(const NewNode& node);
  bool offset(Node& node);
  bool anchor(Node& node);
  bool matcher(VectorSelector& selector);
  bool matching(Binary& binary);
  bool label_list(std::vector<std::string>& labels);
  bool grouping(Aggregate& aggregate);
  bool arguments(std::vector<NodePtr>& list);
  std::optional<milliseconds> duration(bool may_be_negative);
  [[nodiscard]] const OperatorRow* operator_row() const;

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
  Faults faults_;
};

template <class T>
NewNode Parser::make(Position at, ValueType type, T is, std::initializer_list<const NodePtr*> children) {
  std::size_t depth = 1;
  for (const auto* child : children)
    if (*child) depth = std::max(depth, (*child)->depth + 1);
  if (depth > kMostDepth)
    return fault(at, "the expression is nested too deeply", fmt::format("at most {} levels", kMostDepth));
  return std::make_shared<Node>(Node{at, type, depth, std::move(is)});
}

const OperatorRow* Parser::operator_row() const {
  const auto& token = peek();
  for (const auto& row : kOperators)
    if (row.kind == token.kind && (row.kind != Kind::identifier || lower(token.text) == row.text))
      return &row;
  return nullptr;
}

NewNode Parser::expression(int least_precedence) {
  auto left = unary();
  while (left) {
    if (is_word("atan2")) return unsupported(peek().at, "operator 'atan2'");
    const auto* row = operator_row();
    if (row == nullptr || row->precedence < least_precedence) break;
    left = binary(left, *row);
  }
  return left;
}

NewNode Parser::unary() {
  if (++depth_ > kMostDepth)
    return fault(peek().at, "the expression is nested too deeply",
                 fmt::format("at most {} levels", kMostDepth));
  NewNode node;
  if (peek().kind == Kind::add || peek().kind == Kind::sub) {
    const auto sign = take();
    // A sign binds like a product: -a^2 is -(a^2).
    NodePtr operand = expression(kPowPrecedence);
    if (operand) {
      if (const auto* number = std::get_if<NumberLiteral>(&operand->is); number != nullptr) {
        node = make(sign.at, ValueType::scalar,
                    NumberLiteral{sign.kind == Kind::sub ? -number->value : number->value});
      } else {
        const Unary unary{sign.kind == Kind::sub, operand};
        check_unary(unary, sign.at, faults_);
        node = make(sign.at, operand->type, unary, {&operand});
      }
    }
  } else {
    node = postfix(primary());
  }
  --depth_;
  return node;
}

NewNode Parser::binary(const NewNode& left, const OperatorRow& row) {
  const auto sign = take();
  Binary binary;
  binary.op = row.op;
  if (!matching(binary)) return nullptr;
  binary.left = left;
  // Power alone is right-associative: a^b^c^... recurses, so it counts as nesting.
  if (++depth_ > kMostDepth)
    return fault(sign.at, "the expression is nested too deeply", fmt::format("at most {} levels", kMostDepth));
  binary.right = expression(row.op == BinaryOp::pow ? row.precedence : row.precedence + 1);
  --depth_;
  if (!binary.right) return nullptr;
  check_binary(binary, sign.at, faults_);
  const bool scalar = binary.left->type == ValueType::scalar && binary.right->type == ValueType::scalar;
  const auto at = left->at;
  return make(at, scalar ? ValueType::scalar : ValueType::vector, binary, {&binary.left, &binary.right});
}

bool Parser::matching(Binary& binary) {
  binary.returns_bool = accept_word("bool");
  if (is_word("on") || is_word("ignoring")) {
    binary.has_matching = true;
    binary.on = is_word("on");
    take();
    if (!label_list(binary.labels)) return false;
    std::sort(binary.labels.begin(), binary.labels.end());
  }
  if (!is_word("group_left") && !is_word("group_right")) return true;
  if (!binary.has_matching) {
    fault(peek().at, fmt::format("{} needs 'on' or 'ignoring' before it", shown(peek())),
          "as in a * on(device) group_left b");
    return false;
  }
  binary.group = is_word("group_left") ? Binary::Group::left : Binary::Group::right;
  take();
  return peek().kind != Kind::left_paren || label_list(binary.include);
}

bool Parser::label_list(std::vector<std::string>& labels) {
  if (!expect(Kind::left_paren, "'(' and a list of labels")) return false;
  while (!accept(Kind::right_paren)) {
    if (peek().kind == Kind::string) {
      unsupported(peek().at, "a quoted label name");
      return false;
    }
    if (peek().kind != Kind::identifier) {
      unexpected("a label's name");
      return false;
    }
    labels.emplace_back(take().text);
    if (accept(Kind::comma)) continue;
    if (!expect(Kind::right_paren, "',' or ')'")) return false;
    break;
  }
  return true;
}

NewNode Parser::postfix(NewNode node) {
  while (node) {
    if (peek().kind == Kind::left_bracket) {
      node = bracket(node);
    } else if (is_word("offset")) {
      if (!offset(*node)) return nullptr;
    } else if (peek().kind == Kind::at) {
      if (!anchor(*node)) return nullptr;
    } else if (is_word("anchored") || is_word("smoothed")) {
      return unsupported(peek().at, fmt::format("modifier {}", shown(peek())));
    } else {
      break;
    }
  }
  return node;
}

std::optional<milliseconds> Parser::duration(bool may_be_negative) {
  constexpr double kMostSeconds = 9.2e9;  // what a time.Duration holds
  const auto first = peek();
  double sign = 1;
  if (may_be_negative && (first.kind == Kind::add || first.kind == Kind::sub))
    sign = take().kind == Kind::sub ? -1 : 1;
  const auto token = peek();
  double length = 0;
  if (token.kind == Kind::duration)
    length = static_cast<double>(parse_duration(token.text)->count()) / 1000;
  else if (token.kind == Kind::number)
    length = *parse_number(token.text);
  else
    return unexpected("a duration, as in 5m"), std::nullopt;
  take();
  if (!(std::fabs(length) <= kMostSeconds))
    return fault(token.at, "the duration is out of range", "at most 290y"), std::nullopt;
  const milliseconds whole{static_cast<std::int64_t>(std::trunc(std::round(sign * length * 1e9) / 1e6))};
  if (!may_be_negative && whole <= milliseconds{0})
    return fault(token.at, "the duration must be greater than 0"), std::nullopt;
  return whole;
}

NewNode Parser::bracket(const NewNode& node) {
  const auto open = take();
  const auto range = duration(false);
  if (!range) return nullptr;
  if (accept(Kind::colon)) {
    Subquery subquery;
    subquery.expression = node;
    subquery.range = *range;
    if (peek().kind != Kind::right_bracket) {
      const auto step = duration(false);
      if (!step) return nullptr;
      subquery.step = *step;
    }
    if (!expect(Kind::right_bracket, "']'")) return nullptr;
    check_subquery(subquery, node->at, faults_);
    return make(node->at, ValueType::matrix, subquery, {&subquery.expression});
  }
  if (!expect(Kind::right_bracket, "':' or ']'")) return nullptr;
  const auto* selector = std::get_if<VectorSelector>(&node->is);
  if (selector == nullptr)
    return fault(open.at, "a range is only allowed after a selector",
                 "a subquery takes any expression: (x + y)[5m:1m]");
  if (selector->when.has_offset || selector->when.anchor != TimeModifiers::Anchor::none)
    return fault(open.at, "'offset' and '@' come after the range", "as in x[5m] offset 1h");
  return make(node->at, ValueType::matrix, MatrixSelector{*selector, *range});
}

// The modifiers of a node that can have some.
TimeModifiers* modifiers(Node& node) {
  if (auto* selector = std::get_if<VectorSelector>(&node.is)) return &selector->when;
  if (auto* matrix = std::get_if<MatrixSelector>(&node.is)) return &matrix->selector.when;
  if (auto* subquery = std::get_if<Subquery>(&node.is)) return &subquery->when;
  return nullptr;
}

bool Parser::offset(Node& node) {
  const auto word = take();
  auto* when = modifiers(node);
  if (when == nullptr)
    fault(word.at, "'offset' must follow a selector, a range or a subquery",
          "put it inside, after each selector");
  else if (when->has_offset)
    fault(word.at, "'offset' may not be set twice");
  const auto by = duration(true);
  if (!by || when == nullptr) return by.has_value() && when != nullptr;
  when->offset = *by;
  when->has_offset = true;
  return true;
}

bool Parser::anchor(Node& node) {
  constexpr double kMostSeconds = 1e12;
  const auto sign = take();
  auto* when = modifiers(node);
  if (when == nullptr)
    return fault(sign.at, "'@' must follow a selector, a range or a subquery",
                 "put it inside, after each selector"),
           false;
  if (when->anchor != TimeModifiers::Anchor::none) fault(sign.at, "'@' may not be set twice");
  if (is_word("start") || is_word("end")) {
    when->anchor = lower(take().text) == "start" ? TimeModifiers::Anchor::start : TimeModifiers::Anchor::end;
    return expect(Kind::left_paren, "'()'") && expect(Kind::right_paren, "')'");
  }
  const double factor = peek().kind == Kind::sub ? -1 : 1;
  if (peek().kind == Kind::sub || peek().kind == Kind::add) take();
  const auto token = peek();
  if (token.kind != Kind::number && token.kind != Kind::duration)
    return unexpected("a timestamp in seconds, start() or end()"), false;
  take();
  const double at = token.kind == Kind::number
                        ? *parse_number(token.text)
                        : static_cast<double>(parse_duration(token.text)->count()) / 1000;
  if (!(std::fabs(at) <= kMostSeconds))
    return fault(token.at, "the timestamp of '@' is out of bounds"), false;
  when->anchor = TimeModifiers::Anchor::timestamp;
  when->at = Timestamp{milliseconds{static_cast<std::int64_t>(std::round(factor * at * 1000))}};
  return true;
}

NewNode Parser::primary() {
  const auto& token = peek();
  switch (token.kind) {
    case Kind::number:
    case Kind::duration:
    case Kind::string:
      return literal();
    case Kind::left_paren:
      return parenthesised();
    case Kind::left_brace:
      return selector();
    case Kind::identifier:
      break;
    default:
      return unexpected("an expression");
  }
  const auto word = lower(token.text);
  const bool opens = peek(1).kind == Kind::left_paren;
  if (opens || is_word("by", 1) || is_word("without", 1)) {
    if (const auto op = std::find(kAggregates.begin(), kAggregates.end(), word); op != kAggregates.end())
      return aggregate(static_cast<AggregateOp>(op - kAggregates.begin()));
    if (word == "limitk" || word == "limit_ratio")
      return unsupported(token.at, fmt::format("aggregation '{}'", word));
  }
  return opens ? call() : selector();
}

NewNode Parser::literal() {
  const auto& token = take();
  if (token.kind == Kind::string)
    return make(token.at, ValueType::string, StringLiteral{*unquote(token.text)});
  const double value = token.kind == Kind::number
                           ? *parse_number(token.text)
                           : static_cast<double>(parse_duration(token.text)->count()) / 1000;
  return make(token.at, ValueType::scalar, NumberLiteral{value});
}

NewNode Parser::parenthesised() {
  const auto at = take().at;
  const NodePtr inner = expression(1);
  if (!inner || !expect(Kind::right_paren, "an operator or ')'")) return nullptr;
  return make(at, inner->type, Paren{inner}, {&inner});
}

NewNode Parser::selector() {
  constexpr std::array<std::string_view, 6> kReserved{"bool",       "on",          "ignoring",
                                                      "group_left", "group_right", "atan2"};
  VectorSelector made;
  const auto at = peek().at;
  if (peek().kind == Kind::identifier) {
    if (std::find(kReserved.begin(), kReserved.end(), lower(peek().text)) != kReserved.end())
      return unexpected("an expression");
    made.name = take().text;
  }
  if (accept(Kind::left_brace)) {
    while (!accept(Kind::right_brace)) {
      if (!matcher(made)) return nullptr;
      if (accept(Kind::comma)) continue;
      if (!expect(Kind::right_brace, "',' or '}'")) return nullptr;
      break;
    }
  }
  if (!made.name.empty())
    made.matchers.push_back(
        store::Matcher::make(store::Matcher::Op::equal, std::string(kMetricName), made.name).value());
  check_selector(made, at, faults_);
  return make(at, ValueType::vector, std::move(made));
}

bool Parser::matcher(VectorSelector& selector) {
  using Op = store::Matcher::Op;
  if (peek().kind == Kind::string) return unsupported(peek().at, "a quoted label or metric name"), false;
  if (peek().kind != Kind::identifier) return unexpected("a label's name or '}'"), false;
  const auto name = take();
  Op op = Op::equal;
  switch (peek().kind) {
    case Kind::assign:
      break;
    case Kind::not_equal:
      op = Op::not_equal;
      break;
    case Kind::match_regex:
      op = Op::regex;
      break;
    case Kind::match_not_regex:
      op = Op::not_regex;
      break;
    default:
      return unexpected("=, !=, =~ or !~"), false;
  }
  take();
  if (peek().kind != Kind::string) return unexpected("a string in quotes"), false;
  const auto value = take();
  auto made = store::Matcher::make(op, std::string(name.text), *unquote(value.text));
  if (made)
    selector.matchers.push_back(std::move(*made));
  else
    fault(value.at, made.error().message);
  return true;
}

bool Parser::arguments(std::vector<NodePtr>& list) {
  take();
  while (!accept(Kind::right_paren)) {
    list.push_back(expression(1));
    if (!list.back()) return false;
    if (accept(Kind::comma)) {
      if (peek().kind == Kind::right_paren) return unexpected("an argument: no comma may trail"), false;
      continue;
    }
    if (!expect(Kind::right_paren, "an operator, ',' or ')'")) return false;
    break;
  }
  return true;
}

NewNode Parser::call() {
  const auto name = take();
  Call call;
  call.function = find_function(name.text);
  if (call.function == nullptr) {
    if (is_unsupported_function(name.text)) {
      unsupported(name.at, fmt::format("function '{}'", name.text));
    } else {
      std::vector<std::string_view> known(kAggregates.begin(), kAggregates.end());
      for (const auto& function : functions()) known.push_back(function.name);
      const auto near = nearest(name.text, known);
      fault(name.at, fmt::format("unknown function '{}'", printable(name.text, 40)),
            near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }
  }
  if (!arguments(call.arguments)) return nullptr;
  std::size_t depth = 1;
  for (const auto& argument : call.arguments) depth = std::max(depth, argument->depth + 1);
  if (call.function != nullptr) check_call(call, name.at, faults_);
  // An unknown function yields what fits nearly everywhere, so that one slip is one fault.
  auto node =
      make(name.at, call.function != nullptr ? call.function->result : ValueType::vector, std::move(call));
  if (node && (node->depth = depth) > kMostDepth)
    return fault(name.at, "the expression is nested too deeply",
                 fmt::format("at most {} levels", kMostDepth));
  return node;
}

bool Parser::grouping(Aggregate& aggregate) {
  if (!is_word("by") && !is_word("without")) return true;
  aggregate.has_grouping = true;
  aggregate.without = is_word("without");
  take();
  if (!label_list(aggregate.labels)) return false;
  std::sort(aggregate.labels.begin(), aggregate.labels.end());
  aggregate.labels.erase(std::unique(aggregate.labels.begin(), aggregate.labels.end()),
                         aggregate.labels.end());
  return true;
}

NewNode Parser::aggregate(AggregateOp op) {
  const auto name = take();
  Aggregate made;
  made.op = op;
  if (!grouping(made)) return nullptr;
  if (peek().kind != Kind::left_paren) return unexpected("'('");
  std::vector<NodePtr> list;
  if (!arguments(list)) return nullptr;
  if (!made.has_grouping && !grouping(made)) return nullptr;
  const std::size_t wanted = op >= AggregateOp::topk ? 2 : 1;
  if (list.size() != wanted)
    return fault(name.at,
                 fmt::format("'{}' takes {} argument(s), got {}", aggregate_op_text(op), wanted, list.size()),
                 wanted == 2 ? fmt::format("as in {}({}, x)", aggregate_op_text(op),
                                           op == AggregateOp::count_values ? "\"label\"" : "2")
                             : "");
  made.expression = list.back();
  if (wanted == 2) made.parameter = list.front();
  check_aggregate(made, name.at, faults_);
  return make(name.at, ValueType::vector, made, {&made.expression, &made.parameter});
}

}  // namespace

std::variant<Expression, std::vector<ParseError>> parse(std::string_view text) {
  if (text.size() > kMostBytes)
    return Faults{{{1, 1},
                   fmt::format("the expression has {} bytes", text.size()),
                   fmt::format("at most {} are allowed", kMostBytes)}};
  if (trim(text).empty()) return Faults{{{1, 1}, "the expression is empty", ""}};
  auto tokens = tokenize(text);
  if (auto* fault = std::get_if<ParseError>(&tokens)) return Faults{*fault};
  Parser parser(std::move(std::get<0>(tokens)));
  auto root = parser.run();
  if (parser.faults().empty()) return Expression(root);
  if (parser.faults().size() > kMostFaults) parser.faults().resize(kMostFaults);
  return parser.faults();
}

}  // namespace rdmend::promql
