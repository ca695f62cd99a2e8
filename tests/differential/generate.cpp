// SPDX-License-Identifier: Apache-2.0
#include "differential/generate.hpp"

namespace rdmend::differential {
namespace {

// Expressions that neither may accept.
const std::vector<std::string>& wrong() {
  static const std::vector<std::string> kWrong{
      "rate(level)", "rat(level[5m])", "abs(level[5m])", "sum(1)", "level +", "(level", "level)", "level{port=}", "level{port=1}", "level{=\"1\"}",
      "1 > 2", "level and 1", "1 or 2", "level offset", "(level + 1) offset 5m", "sum(level) @ start", "level @ x()",
      "level{port=~\"(\"}", "level{__name__=\"state\"}", "{}", "{port=~\".*\"}", "{port!=\"1\"}", "level[5m][5m]", "level[5m:1m:]",
      "level[5m] + 1", "-level[5m]", "topk(level)", "sum by device (level)", "sum(level) by", "level * on(device) group_middle state",
      "level and on(device) group_left state", "level + bool state", "clamp(level, 1)", "round()", "time(1)", "vector(level)", "scalar(1)",
      "label_replace(level, \"a\")", "label_replace(level, \"a\", \"b\", \"c\", \"(\")", "label_join(level)", "count_values(1, level)",
      "quantile(level)", "\"a\" + 1", "-\"a\"", "\"open", "level{port=\"1\" host=\"a\"}", "level{,}", "level * / state",
      "level ~ state", "level = state", "level == on state", "level[0s]", "level[5m:0s]", "level @ start() @ end()", "level offset 1m offset 2m",
      "level[5m] offset 1m @ ", "sum(level, state)", "rate(level[5m], 1)", "absent()", "1e", "0xg", "5m5m", "level[1m5h]", "level{port=\"\\q\"}",
      "by(level)", "level[5m] and level[5m]", "rate(sum(level)[5m])", "predict_linear(level[5m])", "level * ignoring(port) group_left(port) on(device) state",
      "level * on(device) group_left(device) state", "sum by (1) (level)", "level\x01", ""};
  return kWrong;
}

}  // namespace

std::string Generator::broken() { return rng_.pick(wrong()); }

Piece Generator::attempt(int depth, Need need) {
  if (depth <= 0) return selector(need);
  const std::size_t way = rng_.below(100);
  if (way < 8) return selector(need);
  if (way < 42) return call(depth, need);
  if (way < 58) return aggregate(depth, need);
  if (way < 72) return with_scalar(depth, need);
  if (way < 86) return with_vector(depth, need);
  if (way < 94) return set_operation(depth, need);
  Piece piece = vector(depth - 1, need);
  if (way < 96) {
    note("parentheses");
    return {"(" + piece.text + ")", piece.traits, piece.labels};
  }
  const bool minus = rng_.chance(70);
  note(minus ? "unary -" : "unary +");
  piece.traits.distinct = false;
  return {(minus ? "-" : "+") + operand(piece), piece.traits, piece.labels, false};
}

Piece Generator::vector(int depth, Need need) {
  for (int tries = 0; tries < 6; ++tries) {
    const Used before = used;
    Piece piece = attempt(depth, need);
    if ((!need.exact || piece.traits.exact) && (!need.finite || piece.traits.finite)) return piece;
    used = before;  // what was thrown away was not used
  }
  return selector(need);
}

Case make_case(Rng& rng) {
  Case made;
  Generator generator{rng};
  const auto steps = (kQueryEnd - kQueryBegin) / milliseconds{500};
  made.start = made.end = kQueryBegin + milliseconds{500} * rng.between(0, steps) + milliseconds{250};
  made.range = rng.chance(15);
  if (made.range) {
    made.step = milliseconds{500} * rng.between(10, 240);
    made.end = made.start + made.step * rng.between(0, 12) + milliseconds{500} * rng.between(0, 9);
  }
  const int depth = static_cast<int>(rng.between(1, made.range ? 2 : 3));
  const std::size_t way = rng.below(100);
  if (way < 4) {
    made.expression = generator.broken();
  } else if (way < 10) {
    made.expression = generator.scalar(2, false).text;
  } else if (way < 12 && !made.range) {
    made.expression = generator.string_literal("a \"word\" é \\");
    generator.used.insert("literal string");
  } else if (way < 19 && !made.range) {
    made.expression = generator.matrix(2);
  } else if (way < 24 && !made.range) {
    made.expression = generator.top_sort().text;
    made.ordered = true;
  } else {
    made.expression = generator.vector(depth, {}).text;
  }
  if (rng.chance(3)) {
    generator.used.insert("comment");
    made.expression += rng.chance(50) ? " # and so on" : "\n\t# ( [ {\n";
  }
  generator.used.insert(made.range ? "query range" : "query instant");
  made.used = std::move(generator.used);
  return made;
}

}  // namespace rdmend::differential
