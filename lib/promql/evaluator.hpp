// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <string>

#include "promql/ast.hpp"
#include "promql/block.hpp"
#include "promql/functions.hpp"

namespace rdmend::promql {

// The times that a node is evaluated at: start, start + interval, ...
struct Frame {
  Timestamp start{};
  milliseconds interval{1};
  std::size_t steps = 1;

  [[nodiscard]] Timestamp at(std::size_t step) const {
    return start + interval * static_cast<std::int64_t>(step);
  }
  [[nodiscard]] Timestamp end() const { return at(steps - 1); }
};

// The points that a range vector has over all the steps of a frame, a span a series, without staleness
// markers.
struct Ranges {
  std::vector<Identity> ids;
  std::vector<std::span<const store::Point>> points;
  std::deque<std::vector<store::Point>> owned;  // of spans that are not the store's
  milliseconds range{0};
  const TimeModifiers* when = nullptr;
};

// One evaluation: what the nodes' implementations share. A failure sticks; after it everything yields
// nothing, soon.
class Evaluator {
 public:
  Evaluator(const store::Store& store, const Limits& limits, Timestamp start, Timestamp end);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // The values of a scalar or vector node; a scalar is one nameless row with a value at every step.
  Block evaluate(const Node& node, const Frame& frame);
  // The values of a scalar node, one a step.
  std::vector<double> scalars(const Node& node, const Frame& frame);
  // The points of a range vector node.
  Ranges ranges(const Node& node, const Frame& frame);
  // Of each series the last point of the look-back; with its time in seconds in the place of its value if
  // `times` is set.
  Block instants(const VectorSelector& selector, const Frame& frame, bool times = false);

  // The time that a selector means at a step.
  [[nodiscard]] Timestamp reference(const TimeModifiers& when, Timestamp step) const;
  const Labels* keep(Labels labels);  // until the evaluation ends; fails when that is too much
  [[nodiscard]] const Labels* no_labels() const { return &no_labels_; }
  // Operators may have made series equal: rows of one label set become one, and two values of it at one step
  // are a fault.
  void merge_equal(Block& block);
  // Drops the metrics' names, and merges what that made equal; `may_merge` false: two rows of one label set
  // are a fault.
  void drop_names(Block& block, bool may_merge = true);

  void fail(std::string message);
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const Error& error() const { return error_; }
  // Whether it may go on, after about that many points' worth of work.
  bool spend(std::size_t work);
  // Whether that many samples more may be in memory.
  bool fits(std::size_t samples);
  // Whether rows x steps cells may be allocated. Absent ones are not samples, but take room all the same.
  bool fits_cells(std::size_t rows, std::size_t steps);

 private:
  Block dispatch(const Node& node, const Frame& frame);
  Block number(double value, const Frame& frame) const;
  Block unary(const Unary& node, const Frame& frame);
  Block call(const Call& node, const Frame& frame);
  Block call_range(const Call& node, RangeFunction function, const Frame& frame);
  Block call_value(const Call& node, ValueFunction function, const Frame& frame);
  Ranges select_ranges(const MatrixSelector& node, const Frame& frame);
  Ranges subquery_ranges(const Subquery& node, const Frame& frame);
  [[nodiscard]] Frame inner_frame(const Subquery& node, const Frame& frame);

  const store::Store& store_;
  const Limits& limits_;
  Timestamp start_, end_;  // of the whole query
  std::deque<Labels> made_;
  std::size_t made_bytes_ = 0;
  Labels no_labels_;
  std::size_t samples_ = 0;  // in memory
  std::size_t work_ = 0;     // since the clock was read
  Instant deadline_;
  bool failed_ = false;
  Error error_;
};

// aggregate.cpp, binary.cpp
Block aggregate(Evaluator& evaluator, const Aggregate& node, const Frame& frame);
Block binary(Evaluator& evaluator, const Binary& node, const Frame& frame);

}  // namespace rdmend::promql
