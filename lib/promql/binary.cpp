// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "promql/evaluator.hpp"

namespace rdmend::promql {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// What two values make; `kept` is false where a comparison filters the element out.
struct Outcome {
  double value = 0;
  bool kept = true;
};

Outcome apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return {a + b};
    case BinaryOp::sub:
      return {a - b};
    case BinaryOp::mul:
      return {a * b};
    case BinaryOp::div:
      return {a / b};
    case BinaryOp::mod:
      return {std::fmod(a, b)};
    case BinaryOp::pow:
      return {std::pow(a, b)};
    case BinaryOp::equal:
      return {a, a == b};
    case BinaryOp::not_equal:
      return {a, a != b};
    case BinaryOp::less:
      return {a, a < b};
    case BinaryOp::less_equal:
      return {a, a <= b};
    case BinaryOp::greater:
      return {a, a > b};
    case BinaryOp::greater_equal:
      return {a, a >= b};
    default:
      break;  // set operators never come here
  }
  return {a, false};
}

bool drops_name(const Binary& node) {
  return !is_comparison(node.op) || node.returns_bool;
}

Block scalar_scalar(Evaluator& evaluator, const Binary& node, const Frame& frame) {
  const auto left = evaluator.scalars(*node.left, frame), right = evaluator.scalars(*node.right, frame);
  Block out{.steps = frame.steps, .ids = {}, .cells = {}};
  if (evaluator.failed()) return out;
  auto cells = out.add({evaluator.no_labels()});
  for (std::size_t step = 0; step < frame.steps && evaluator.spend(1); ++step) {
    const auto outcome = apply(node.op, left[step], right[step]);
    cells[step] = is_comparison(node.op) ? (outcome.kept ? 1 : 0) : outcome.value;
  }
  return out;
}

Block vector_scalar(Evaluator& evaluator, const Binary& node, const Frame& frame) {
  const bool swapped = node.left->type == ValueType::scalar;
  const auto scalar = evaluator.scalars(swapped ? *node.left : *node.right, frame);
  auto block = evaluator.evaluate(swapped ? *node.right : *node.left, frame);
  for (std::size_t i = 0; i < block.rows(); ++i) {
    auto row = block.row(i);
    if (!evaluator.spend(frame.steps)) return block;
    for (std::size_t step = 0; step < frame.steps; ++step) {
      const double value = row[step];
      if (is_absent(value)) continue;
      const auto outcome =
          swapped ? apply(node.op, scalar[step], value) : apply(node.op, value, scalar[step]);
      if (!is_comparison(node.op))
        row[step] = outcome.value;
      else if (node.returns_bool)
        row[step] = outcome.kept ? 1 : 0;
      else if (!outcome.kept)
        row[step] = kAbsent;  // and what stays is the vector's value, on whichever side it stands
    }
  }
  if (drops_name(node)) evaluator.drop_names(block);
  block.remove_empty_rows();
  return block;
}

// Both sides, with a number for each label set that they are matched by.
struct Sides {
  Block left, right;
  std::vector<std::uint32_t> left_keys, right_keys;
  std::size_t keys = 0;
};

LabelFilter matched_by(const Binary& node) {
  return {.only = node.on, .names = node.labels};
}

Sides evaluate_sides(Evaluator& evaluator, const Binary& node, const Frame& frame) {
  Sides sides;
  sides.left = evaluator.evaluate(*node.left, frame);
  sides.right = evaluator.evaluate(*node.right, frame);
  Numbering numbering(matched_by(node), sides.left.rows());
  const auto number = [&](const Block& block, std::vector<std::uint32_t>& keys) {
    keys.reserve(block.rows());
    for (const auto& id : block.ids) keys.push_back(numbering.number(id));
  };
  number(sides.left, sides.left_keys);
  number(sides.right, sides.right_keys);
  sides.keys = numbering.size();
  return sides;
}

// At each step: left elements whose key the right side has (and), or has not (unless).
Block filter_left(Evaluator& evaluator, Sides sides, bool wanted, const Frame& frame) {
  std::vector<std::size_t> seen(sides.keys, ~std::size_t{0});  // the last step that had the key
  for (std::size_t step = 0; step < frame.steps; ++step) {
    for (std::size_t i = 0; i < sides.right.rows() && evaluator.spend(1); ++i)
      if (!is_absent(sides.right.row(i)[step])) seen[sides.right_keys[i]] = step;
    for (std::size_t i = 0; i < sides.left.rows() && evaluator.spend(1); ++i)
      if ((seen[sides.left_keys[i]] == step) != wanted) sides.left.row(i)[step] = kAbsent;
  }
  sides.left.remove_empty_rows();
  return std::move(sides.left);
}

Block either(Evaluator& evaluator, Sides sides, const Frame& frame) {
  std::vector<std::size_t> seen(sides.keys, ~std::size_t{0});
  for (std::size_t step = 0; step < frame.steps; ++step) {
    for (std::size_t i = 0; i < sides.left.rows() && evaluator.spend(1); ++i)
      if (!is_absent(sides.left.row(i)[step])) seen[sides.left_keys[i]] = step;
    for (std::size_t i = 0; i < sides.right.rows() && evaluator.spend(1); ++i)
      if (seen[sides.right_keys[i]] == step) sides.right.row(i)[step] = kAbsent;
  }
  auto out = std::move(sides.left);
  if (!evaluator.fits_cells(out.rows() + sides.right.rows(), frame.steps)) return out;
  out.ids.insert(out.ids.end(), sides.right.ids.begin(), sides.right.ids.end());
  out.cells.insert(out.cells.end(), sides.right.cells.begin(), sides.right.cells.end());
  evaluator.merge_equal(out);
  out.remove_empty_rows();
  return out;
}

// Arithmetic and comparison of two vectors. `many` is the side that may have several elements of a key: the
// left one unless the matching is group_right.
class Matching {
 public:
  Matching(Evaluator& evaluator, const Binary& node, const Frame& frame)
      : evaluator_(evaluator),
        node_(node),
        swapped_(node.group == Binary::Group::right),
        numbering_(kWholeIdentity) {
    auto sides = evaluate_sides(evaluator, node, frame);
    if (swapped_) {
      std::swap(sides.left, sides.right);
      std::swap(sides.left_keys, sides.right_keys);
    }
    many_ = std::move(sides.left);
    one_ = std::move(sides.right);
    many_keys_ = std::move(sides.left_keys);
    one_keys_ = std::move(sides.right_keys);
    row_of_key_.resize(sides.keys);
    matched_.resize(sides.keys, ~std::size_t{0});
    pairs_.resize(many_.rows(), {kNobody, kNobody});
    out_.steps = frame.steps;
  }

  Block run() {
    for (std::size_t step = 0; step < out_.steps && !evaluator_.failed(); ++step)
      if (index_one_side(step)) match(step);
    out_.remove_empty_rows();
    return std::move(out_);
  }

 private:
  struct Pair {
    std::uint32_t one, out;  // rows
  };
  // What was last put into a row of the result.
  struct Filled {
    std::size_t step;
    std::uint32_t key;
  };

  bool index_one_side(std::size_t step);
  void match(std::size_t step);
  std::uint32_t result_row(std::size_t many, std::uint32_t one);
  Identity result_identity(const Identity& many, const Identity& one);
  bool claim(std::uint32_t row, std::uint32_t key, std::size_t step);

  Evaluator& evaluator_;
  const Binary& node_;
  bool swapped_;
  Block many_, one_, out_;
  std::vector<std::uint32_t> many_keys_, one_keys_;
  std::vector<std::uint32_t> row_of_key_;  // on the "one" side, at this step
  std::vector<std::size_t> matched_;       // the last step at which the key was matched
  std::vector<Pair> pairs_;                // of each "many" row, for the "one" row that it met last
  std::vector<Filled> filled_;
  Numbering numbering_;
};

bool Matching::index_one_side(std::size_t step) {
  const auto here = [&](std::size_t i) { return !is_absent(many_.row(i)[step]); };
  std::size_t first = 0;
  while (first < many_.rows() && !here(first)) ++first;
  if (first == many_.rows()) return false;  // nothing to match, so nothing is ambiguous
  std::fill(row_of_key_.begin(), row_of_key_.end(), kNobody);
  for (std::uint32_t i = 0; i < one_.rows() && evaluator_.spend(1); ++i) {
    if (is_absent(one_.row(i)[step])) continue;
    auto& holder = row_of_key_[one_keys_[i]];
    if (holder != kNobody) {
      evaluator_.fail(
          fmt::format("found duplicate series for the match group {} on the {} hand-side of the operation: "
                      "[{}, {}];many-to-many "
                      "matching not allowed: matching labels must be unique on one side",
                      filtered(one_.ids[i], matched_by(node_)).text(), swapped_ ? "left" : "right",
                      one_.ids[i].materialised().text(), one_.ids[holder].materialised().text()));
      return false;
    }
    holder = i;
  }
  return !evaluator_.failed();
}

void Matching::match(std::size_t step) {
  for (std::uint32_t i = 0; i < many_.rows() && evaluator_.spend(1); ++i) {
    const double value = many_.row(i)[step];
    const auto key = many_keys_[i];
    const auto one = row_of_key_[key];
    if (is_absent(value) || one == kNobody) continue;
    const double other = one_.row(one)[step];
    auto outcome = swapped_ ? apply(node_.op, other, value) : apply(node_.op, value, other);
    if (node_.returns_bool) outcome = {outcome.kept ? 1.0 : 0.0, true};
    // A comparison that fails is no match: so it is up to Prometheus 3.8; 3.9 counts it.
    if (!outcome.kept) continue;
    if (node_.group == Binary::Group::none) {
      if (matched_[key] == step)
        return evaluator_.fail(
            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)");
      matched_[key] = step;
    }
    const auto row = result_row(i, one);
    if (evaluator_.failed() || !claim(row, key, step)) return;
    out_.row(row)[step] = outcome.value;
  }
}

// A label set may come out once a step. Within one key that is the matching's fault, else the vector's.
bool Matching::claim(std::uint32_t row, std::uint32_t key, std::size_t step) {
  auto& filled = filled_[row];
  if (filled.step != step) {
    filled = {step, key};
    return true;
  }
  evaluator_.fail(filled.key == key
                      ? "multiple matches for labels: grouping labels must ensure unique matches"
                      : "vector cannot contain metrics with the same labelset");
  return false;
}

std::uint32_t Matching::result_row(std::size_t many, std::uint32_t one) {
  auto& pair = pairs_[many];
  if (pair.one == one) return pair.out;
  const auto identity = result_identity(many_.ids[many], one_.ids[one]);
  const auto number = numbering_.number(identity);
  if (number == out_.rows()) {
    if (!evaluator_.fits_cells(out_.rows() + 1, out_.steps)) return number;
    out_.add(identity);
    filled_.push_back({~std::size_t{0}, kNobody});
  }
  pair = {one, number};
  return number;
}

Identity Matching::result_identity(const Identity& many, const Identity& one) {
  const bool nameless = many.nameless || drops_name(node_);
  if (node_.group == Binary::Group::none) {
    if (!node_.on && node_.labels.empty()) return {many.labels, nameless};
    // `on` keeps its labels alone; `ignoring` drops its own, but not the name.
    auto labels = filtered({many.labels, nameless},
                           node_.on ? LabelFilter{.only = true, .names = node_.labels}
                                    : LabelFilter{.only = false, .names = node_.labels, .everything = true});
    return {evaluator_.keep(std::move(labels))};
  }
  if (node_.include.empty()) return {many.labels, nameless};
  auto labels = Identity{many.labels, nameless}.materialised();
  for (const auto& name : node_.include) labels.set(name, one.get(name));
  return {evaluator_.keep(std::move(labels)), node_.returns_bool};
}

}  // namespace

Block binary(Evaluator& evaluator, const Binary& node, const Frame& frame) {
  const bool left_scalar = node.left->type == ValueType::scalar,
             right_scalar = node.right->type == ValueType::scalar;
  if (left_scalar && right_scalar) return scalar_scalar(evaluator, node, frame);
  if (left_scalar || right_scalar) return vector_scalar(evaluator, node, frame);
  switch (node.op) {
    case BinaryOp::and_:
      return filter_left(evaluator, evaluate_sides(evaluator, node, frame), true, frame);
    case BinaryOp::unless:
      return filter_left(evaluator, evaluate_sides(evaluator, node, frame), false, frame);
    case BinaryOp::or_:
      return either(evaluator, evaluate_sides(evaluator, node, frame), frame);
    default:
      return Matching(evaluator, node, frame).run();
  }
}

}  // namespace rdmend::promql
