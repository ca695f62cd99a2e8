// SPDX-License-Identifier: Apache-2.0
#include "promql/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmend::promql {
namespace {

constexpr std::size_t kWorkBetweenClocks = 4096;
constexpr std::size_t kCellsPerSample = 8;
// Of label sets that operators make. A label of 16 KiB on each of ten thousand series would be a bomb within every other limit.
constexpr std::size_t kMostMadeBytes = 32U << 20U;
// Keeps sums of times far from overflow; it is the year 33658.
constexpr milliseconds kMostTime{1'000'000'000'000'000};

// The one place of lib/ that reads a clock: a query that runs too long must be stopped from inside, the loop
// that would hand down the time being the one that it holds up.
Instant clock_now() {
  return std::chrono::steady_clock::now();
}

bool in_bounds(Timestamp at) {
  return at.time_since_epoch() < kMostTime && at.time_since_epoch() > -kMostTime;
}

}  // namespace

Evaluator::Evaluator(const store::Store& store, const Limits& limits, Timestamp start, Timestamp end)
    : store_(store), limits_(limits), start_(start), end_(end), deadline_(clock_now() + limits.timeout) {}

void Evaluator::fail(std::string message) {
  if (failed_) return;
  failed_ = true;
  error_ = {std::move(message)};
}

bool Evaluator::spend(std::size_t work) {
  work_ += work;
  if (work_ >= kWorkBetweenClocks) {
    work_ = 0;
    if (clock_now() >= deadline_) fail("query timed out in expression evaluation");
  }
  return !failed_;
}

bool Evaluator::fits(std::size_t samples) {
  if (samples_ + samples > limits_.max_samples)
    fail("query processing would load too many samples into memory in query execution");
  return !failed_;
}

bool Evaluator::fits_cells(std::size_t rows, std::size_t steps) {
  if (rows > 0 && steps > limits_.max_samples * kCellsPerSample / rows)
    fail("query processing would load too many samples into memory in query execution");
  return !failed_;
}

const Labels* Evaluator::keep(Labels labels) {
  for (const auto& [name, value] : labels) made_bytes_ += name.size() + value.size();
  if (made_bytes_ > kMostMadeBytes) {
    fail("query makes too many bytes of labels");
    return &no_labels_;
  }
  return &made_.emplace_back(std::move(labels));
}

Timestamp Evaluator::reference(const TimeModifiers& when, Timestamp step) const {
  switch (when.anchor) {
    case TimeModifiers::Anchor::timestamp:
      return when.at - when.offset;
    case TimeModifiers::Anchor::start:
      return start_ - when.offset;
    case TimeModifiers::Anchor::end:
      return end_ - when.offset;
    case TimeModifiers::Anchor::none:
      break;
  }
  return step - when.offset;
}

Block Evaluator::evaluate(const Node& node, const Frame& frame) {
  // Every node reads the clock, however little its parts have to do.
  if (!spend(1 + kWorkBetweenClocks / 64) || !fits_cells(1, frame.steps))
    return {.steps = frame.steps, .ids = {}, .cells = {}};
  const auto before = samples_;
  auto block = dispatch(node, frame);
  samples_ = before;
  const auto present = failed_ ? 0 : block.present();
  if (fits(present)) samples_ += present;
  if (failed_) block = {.steps = frame.steps, .ids = {}, .cells = {}};
  return block;
}

std::vector<double> Evaluator::scalars(const Node& node, const Frame& frame) {
  if (const auto* literal = std::get_if<NumberLiteral>(&node.is)) {
    if (!fits_cells(1, frame.steps))
      return std::vector<double>(frame.steps > limits_.max_samples ? 1 : frame.steps, kAbsent);
    return std::vector<double>(frame.steps, literal->value);
  }
  auto cells = evaluate(node, frame).cells;
  cells.resize(failed_ ? 1 : frame.steps, kAbsent);
  return cells;
}

Block Evaluator::number(double value, const Frame& frame) const {
  return {.steps = frame.steps, .ids = {{&no_labels_}}, .cells = std::vector<double>(frame.steps, value)};
}

Block Evaluator::dispatch(const Node& node, const Frame& frame) {
  struct Visitor {
    Evaluator& self;
    const Frame& frame;
    Block operator()(const NumberLiteral& literal) const { return self.number(literal.value, frame); }
    Block operator()(const VectorSelector& selector) const { return self.instants(selector, frame); }
    Block operator()(const Paren& paren) const { return self.dispatch(*paren.expression, frame); }
    Block operator()(const Unary& unary) const { return self.unary(unary, frame); }
    Block operator()(const Binary& node_) const { return binary(self, node_, frame); }
    Block operator()(const Aggregate& node_) const { return aggregate(self, node_, frame); }
    Block operator()(const Call& call) const { return self.call(call, frame); }
    // The parser lets none of these stand where a scalar or a vector is due.
    Block operator()(const StringLiteral&) const { return {.steps = frame.steps, .ids = {}, .cells = {}}; }
    Block operator()(const MatrixSelector&) const { return {.steps = frame.steps, .ids = {}, .cells = {}}; }
    Block operator()(const Subquery&) const { return {.steps = frame.steps, .ids = {}, .cells = {}}; }
  };
  return std::visit(Visitor{*this, frame}, node.is);
}

Block Evaluator::unary(const Unary& node, const Frame& frame) {
  auto block = evaluate(*node.operand, frame);
  if (!node.negative) return block;
  for (auto& cell : block.cells)
    if (!is_absent(cell)) cell = -cell;
  drop_names(block);
  return block;
}

Block Evaluator::call(const Call& node, const Frame& frame) {
  const auto& function = *node.function;
  if (const auto* range = std::get_if<RangeFunction>(&function.implementation))
    return call_range(node, *range, frame);
  if (const auto* value = std::get_if<ValueFunction>(&function.implementation))
    return call_value(node, *value, frame);
  return std::get<NodeFunction>(function.implementation)(*this, node, frame);
}

Block Evaluator::call_value(const Call& node, ValueFunction function, const Frame& frame) {
  std::vector<std::vector<double>> columns;
  for (std::size_t i = 1; i < node.arguments.size(); ++i)
    columns.push_back(scalars(*node.arguments[i], frame));
  auto block = evaluate(*node.arguments[0], frame);
  std::array<double, 4> arguments{};
  for (std::size_t step = 0; step < frame.steps && !failed_; ++step) {
    for (std::size_t i = 0; i < columns.size(); ++i) arguments[i] = columns[i][step];
    for (std::size_t row = 0; row < block.rows() && spend(1); ++row) {
      auto& cell = block.row(row)[step];
      if (!is_absent(cell) && !function(cell, std::span(arguments).first(columns.size()), cell))
        cell = kAbsent;
    }
  }
  drop_names(block);
  return block;
}

Block Evaluator::call_range(const Call& node, RangeFunction function, const Frame& frame) {
  Block out{.steps = frame.steps, .ids = {}, .cells = {}};
  const auto matrix = std::find_if(node.arguments.begin(), node.arguments.end(),
                                   [](const auto& a) { return a->type == ValueType::matrix; });
  std::vector<double> argument;
  for (const auto& other : node.arguments)
    if (other != *matrix) argument = scalars(*other, frame);
  const auto ranges = this->ranges(**matrix, frame);
  if (!fits_cells(ranges.ids.size(), frame.steps)) return out;
  out.ids.reserve(ranges.ids.size());
  out.cells.reserve(ranges.ids.size() * frame.steps);
  for (std::size_t i = 0; i < ranges.ids.size(); ++i) {
    const auto all = ranges.points[i];
    auto cells = out.add(ranges.ids[i]);
    bool any = false;
    // Both only grow, as the window slides. With one step, all that was selected is in it.
    std::size_t first = 0, past = frame.steps == 1 ? all.size() : 0;
    for (std::size_t step = 0; step < frame.steps; ++step) {
      Window window{{},
                    {},
                    reference(*ranges.when, frame.at(step)),
                    frame.at(step),
                    argument.empty() ? 0 : argument[step]};
      window.from = window.to - ranges.range;
      while (past < all.size() && all[past].at <= window.to) ++past;
      while (first < past && all[first].at <= window.from) ++first;
      if (!spend(1 + past - first) || !fits(past - first)) return out;
      if (first == past) continue;
      window.points = all.subspan(first, past - first);
      if (double value = 0; function(window, value)) {
        cells[step] = value;
        any = true;
      }
    }
    if (!any) {
      out.ids.pop_back();
      out.cells.resize(out.cells.size() - frame.steps);
    }
  }
  if (!node.function->keeps_name) drop_names(out, false);
  return out;
}

void Evaluator::drop_names(Block& block, bool may_merge) {
  if (block.rows() == 0 || failed_) return;
  const auto name = block.ids[0].get(kMetricName);
  // Distinct series of one name stay distinct without it.
  const bool one_name = std::all_of(block.ids.begin(), block.ids.end(),
                                    [&](const Identity& id) { return id.get(kMetricName) == name; });
  for (auto& id : block.ids) id.nameless = true;
  if (one_name) return;
  const auto before = block.rows();
  merge_equal(block);
  if (!may_merge && block.rows() != before) fail("vector cannot contain metrics with the same labelset");
}

void Evaluator::merge_equal(Block& block) {
  if (block.rows() < 2 || failed_) return;
  Numbering numbering(kWholeIdentity, block.rows());
  Block merged{.steps = block.steps, .ids = {}, .cells = {}};
  for (std::size_t i = 0; i < block.rows() && spend(block.steps); ++i) {
    const auto from = block.row(i);
    if (std::all_of(from.begin(), from.end(), is_absent)) continue;
    const auto number = numbering.number(block.ids[i]);
    auto to = number < merged.rows() ? merged.row(number) : merged.add(block.ids[i]);
    for (std::size_t step = 0; step < block.steps; ++step) {
      if (is_absent(from[step])) continue;
      if (!is_absent(to[step])) return fail("vector cannot contain metrics with the same labelset");
      to[step] = from[step];
    }
  }
  block = std::move(merged);
}

namespace {

Matrix to_matrix(const Block& block, const Frame& frame) {
  Matrix out;
  for (std::size_t i = 0; i < block.rows(); ++i) {
    MatrixSeries series{block.ids[i].materialised(), {}};
    const auto row = block.row(i);
    for (std::size_t step = 0; step < row.size(); ++step)
      if (!is_absent(row[step])) series.points.push_back({frame.at(step), row[step]});
    if (!series.points.empty()) out.push_back(std::move(series));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.labels < b.labels; });
  return out;
}

Matrix to_matrix(const Ranges& ranges, Timestamp at, Evaluator& evaluator) {
  Matrix out;
  const auto to = evaluator.reference(*ranges.when, at);
  std::size_t samples = 0;
  for (std::size_t i = 0; i < ranges.ids.size(); ++i) {
    MatrixSeries series{ranges.ids[i].materialised(), {}};
    for (const auto& point : ranges.points[i])
      if (point.at > to - ranges.range && point.at <= to) series.points.push_back(point);
    samples += series.points.size();
    if (!evaluator.spend(series.points.size()) || !evaluator.fits(samples)) return {};
    if (!series.points.empty()) out.push_back(std::move(series));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.labels < b.labels; });
  return out;
}

Value to_value(const Node& root, const Block& block) {
  if (root.type == ValueType::scalar) return block.cells.empty() ? kAbsent : block.cells[0];
  Vector out;
  for (std::size_t i = 0; i < block.rows(); ++i)
    if (!is_absent(block.cells[i])) out.push_back({block.ids[i].materialised(), block.cells[i]});
  return out;
}

}  // namespace

Result<Value> evaluate(const Expression& expression, const store::Store& store, Timestamp at,
                       const Limits& limits) {
  const auto& root = expression.root();
  if (!in_bounds(at)) return Error{"the evaluation time is out of bounds"};
  if (const auto* text = std::get_if<StringLiteral>(&unparenthesised(root).is)) return Value(text->value);
  Evaluator evaluator(store, limits, at, at);
  const Frame frame{.start = at};
  Value value = root.type == ValueType::matrix
                    ? Value(to_matrix(evaluator.ranges(unparenthesised(root), frame), at, evaluator))
                    : to_value(root, evaluator.evaluate(root, frame));
  if (evaluator.failed()) return evaluator.error();
  return value;
}

Result<Matrix> evaluate_range(const Expression& expression, const store::Store& store, Timestamp start,
                              Timestamp end, milliseconds step, const Limits& limits) {
  const auto& root = expression.root();
  if (!in_bounds(start) || !in_bounds(end)) return Error{"the evaluation time is out of bounds"};
  if (step <= milliseconds{0})
    return Error{"zero or negative query resolution step widths are not accepted. Try a positive integer"};
  if (root.type != ValueType::scalar && root.type != ValueType::vector)
    return Error{
        fmt::format("invalid expression type \"{}\" for range query, must be Scalar or instant Vector",
                    root.type == ValueType::matrix ? "range vector" : "string")};
  if (end < start) return Matrix{};
  Evaluator evaluator(store, limits, start, end);
  const Frame frame{
      .start = start, .interval = step, .steps = static_cast<std::size_t>((end - start) / step) + 1};
  auto matrix = to_matrix(evaluator.evaluate(root, frame), frame);
  if (evaluator.failed()) return evaluator.error();
  return matrix;
}

}  // namespace rdmend::promql
