// SPDX-License-Identifier: Apache-2.0
// Literals, operators, vector matching.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "differential/generate.hpp"

namespace rdmend::differential {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }
bool includes(const Names& all, const Names& some) {
  return std::ranges::all_of(some, [&](const std::string& name) { return has(all, name); });
}
Names common(const Names& left, const Names& right) {
  Names both;
  for (const std::string& name : left)
    if (has(right, name)) both.push_back(name);
  return both;
}
Names missing(const Names& from, const Names& in) {
  Names result;
  for (const std::string& name : from)
    if (!has(in, name)) result.push_back(name);
  return result;
}

}  // namespace

std::string Generator::keyword(const std::string& word) {
  if (!rng_.chance(6)) return word;
  std::string upper = word;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string Generator::list(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : rng_.chance(50) ? ", " : ",") + name;
  if (!names.empty() && rng_.chance(5)) text += ",";
  return text;
}

Names Generator::some_of(const Names& names) {
  Names some;
  for (const std::string& name : names)
    if (rng_.chance(55)) some.push_back(name);
  return some;
}

std::string Generator::string_literal(const std::string& text) {
  const std::size_t style = rng_.below(10);
  if (style == 0 && text.find('`') == std::string::npos) return "`" + text + "`";
  const char quote = style < 3 ? '\'' : '"';
  std::string literal{quote};
  for (const char c : text) {
    if (c == quote || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + quote;
}

Piece Generator::number(bool exact) {
  static const Names kExact{"0", "1", "2", "4", "100", "0.5", "0.25", "-3", "1e3", "1e6", "250", "5.", ".5", "2.5e2"};
  static const Names kAny{"0.1", "3.14159", "1e-3", "17.3", "1.5e9", "0.333"};
  Traits traits;
  std::string text = rng_.pick(kExact);
  if (!exact && rng_.chance(35)) {
    text = rng_.pick(kAny);
    traits.exact = false;
  }
  if (rng_.chance(4)) {
    note("literal hexadecimal");
    return {rng_.chance(50) ? "0x1F" : "0X40"};
  }
  if (rng_.chance(5)) {
    const bool nan = rng_.chance(40);
    note(nan ? "literal NaN" : "literal Inf");
    traits.finite = false;
    return {nan ? (rng_.chance(50) ? "NaN" : "nan") : rng_.pick(Names{"Inf", "+Inf", "-Inf", "inf"}), traits};
  }
  note("literal number");
  return {text, traits};
}

Piece Generator::scalar(int depth, bool exact) {
  const std::size_t way = depth > 0 ? rng_.below(10) : rng_.below(4);
  if (way == 4) {
    note("function time");
    return {"time()"};
  }
  if (way == 5 || way == 6) {
    note("function scalar");
    Piece inner = rng_.chance(40) ? Piece{"alone"} : vector(depth - 1, {exact, false});
    return {"scalar(" + inner.text + ")", {inner.traits.exact, false, false}};
  }
  if (way == 7 || way == 8) {
    const Piece left = scalar(depth - 1, true);
    const Piece right = scalar(depth - 1, true);
    const Operator& op = rng_.pick(operators());
    if (op.kind == OperatorKind::set || (exact && (op.text == "/" || op.text == "^" || op.text == "*"))) return number(exact);
    note("operator " + op.text);
    if (op.kind == OperatorKind::comparison) note("modifier bool");
    const std::string words = op.kind == OperatorKind::comparison ? op.text + " " + keyword("bool") : op.text;
    return {"(" + left.text + " " + words + " " + right.text + ")", combined(op.text, left.traits, right.traits, false)};
  }
  return number(exact);
}

std::string Generator::operand(const Piece& piece) {
  // Without parentheses now and then, so that precedence and associativity are judged too.
  if (piece.atom && !rng_.chance(5)) return piece.text;
  note("parentheses");
  return "(" + piece.text + ")";
}

// `simple`: one side is a plain number, so a product stays within the bits of a double.
Traits Generator::combined(const std::string& op, const Traits& left, const Traits& right, bool simple) const {
  Traits traits{left.exact && right.exact, left.finite && right.finite, false};
  if (op == "/" || op == "^" || (op == "*" && !simple)) traits.exact = false;
  if (op == "/" || op == "^" || op == "%" || op == "*") traits.finite = false;
  return traits;
}

Piece Generator::with_scalar(int depth, Need need) {
  const Operator* op = &rng_.pick(operators());
  while (op->kind == OperatorKind::set) op = &rng_.pick(operators());
  const bool compares = op->kind == OperatorKind::comparison;
  const bool jumps = compares || op->text == "%";
  Piece left = vector(depth - 1, {need.exact || (jumps && rng_.chance(70)), need.finite});
  Piece right = rng_.chance(70) ? number(need.exact || jumps) : scalar(depth - 1, need.exact || jumps);
  // A threshold that no rounded value can sit on.
  if (jumps && !left.traits.exact) right = {fmt::format("{}.{}7", rng_.below(300), rng_.below(1000))};
  if (op->text == "%" && !left.traits.exact) op = &operators().front();
  note("operator " + op->text);
  const bool returns_bool = compares && rng_.chance(35);
  if (returns_bool) note("modifier bool");
  const std::string words = op->text + (returns_bool ? " " + keyword("bool") : "");
  const bool swapped = rng_.chance(25);
  const Piece& first = swapped ? right : left;
  const Piece& second = swapped ? left : right;
  Piece piece{operand(first) + " " + words + " " + operand(second), combined(op->text, left.traits, right.traits, true), left.labels, false};
  if (compares) piece.traits = returns_bool ? Traits{} : Traits{left.traits.exact, left.traits.finite, false};
  return piece;
}

// Chooses on/ignoring/group_*, so that most pairs find each other; now and then at random, so that many-to-many occurs.
std::string Generator::matching(Piece& left, Piece& right, const std::string& op, Names& result) {
  const bool same = left.labels.size() == right.labels.size() && includes(left.labels, right.labels);
  const bool set = op == "and" || op == "or" || op == "unless";
  Names on = common(left.labels, right.labels);
  result = left.labels;
  if (same && rng_.chance(60)) return "";
  if (rng_.chance(6)) on = some_of(left.labels);
  const bool ignoring = rng_.chance(40) && !(left.labels.empty() && right.labels.empty());
  Names ignored = missing(left.labels, on);
  for (const std::string& name : missing(right.labels, on)) ignored.push_back(name);
  note(ignoring ? "matching ignoring" : "matching on");
  std::string text = " " + keyword(ignoring ? "ignoring" : "on") + (rng_.chance(50) ? " " : "") + "(" + list(ignoring ? ignored : on) + ")";
  if (set) return text;
  const Names more_left = missing(left.labels, on);
  const Names more_right = missing(right.labels, on);
  if (more_left.empty() && more_right.empty() && !rng_.chance(10)) return text;
  const bool to_left = !left.text.ends_with("_info") && (more_right.empty() || (!more_left.empty() && left.labels.size() >= right.labels.size()));
  const Names& copied = to_left ? more_right : more_left;
  const std::string side = to_left ? "group_left" : "group_right";
  note("matching " + side);
  text += " " + keyword(side);
  result = to_left ? left.labels : right.labels;
  if (!copied.empty() && rng_.chance(80)) {
    note("matching " + side + "(labels)");
    text += "(" + list(copied) + ")";
    result.insert(result.end(), copied.begin(), copied.end());
  } else if (rng_.chance(40)) {
    text += "()";
  }
  return text;
}

Piece Generator::with_vector(int depth, Need need) {
  const Operator* op = &rng_.pick(operators());
  while (op->kind == OperatorKind::set) op = &rng_.pick(operators());
  const bool compares = op->kind == OperatorKind::comparison;
  const bool jumps = (compares && rng_.chance(80)) || op->text == "%";
  const Need inner{need.exact || jumps, need.finite};
  Piece left = vector(depth - 1, inner);
  Piece right = vector(depth - 1, inner);
  // Information metrics join everything; that is what group_left is for.
  if (rng_.chance(28)) {
    note("selector instant");
    const bool ports = std::ranges::find(left.labels, "port") != left.labels.end();
    right = {ports ? "port_info" : "device_info", {}, ports ? Names{"device", "port", "netdev"} : Names{"device", "driver"}};
    if (rng_.chance(45)) std::swap(left, right);
  }
  note("operator " + op->text);
  const bool returns_bool = compares && rng_.chance(35);
  if (returns_bool) note("modifier bool");
  Piece piece{"", combined(op->text, left.traits, right.traits, false), {}, false};
  if (compares) piece.traits = returns_bool ? Traits{} : Traits{left.traits.exact, left.traits.finite, false};
  const std::string words = op->text + (returns_bool ? " " + keyword("bool") : "") + matching(left, right, op->text, piece.labels);
  const std::string second = operand(right);
  // Without its own parentheses a group_left would take those of the operand for its labels.
  const bool bare = second.starts_with("(") && !words.ends_with(")") && words.find_first_of("gG") != std::string::npos;
  piece.text = operand(left) + " " + words + (bare ? "() " : " ") + second;
  return piece;
}

Piece Generator::set_operation(int depth, Need need) {
  static const Names kSet{"and", "or", "unless"};
  const std::string op = rng_.pick(kSet);
  note("operator " + op);
  Piece left = vector(depth - 1, need);
  Piece right = vector(depth - 1, need);
  Piece piece{"", {left.traits.exact && right.traits.exact, left.traits.finite && right.traits.finite, false}, {}, false};
  const std::string words = keyword(op) + matching(left, right, op, piece.labels);
  piece.text = operand(left) + " " + words + " " + operand(right);
  return piece;
}

}  // namespace rdmend::differential
