// SPDX-License-Identifier: Apache-2.0
// What the evaluator reads from the store: instants of the look-back, ranges, and the ranges that subqueries
// make.
#include <algorithm>

#include "promql/evaluator.hpp"

namespace rdmend::promql {

Block Evaluator::instants(const VectorSelector& selector, const Frame& frame, bool times) {
  Block out{.steps = frame.steps, .ids = {}, .cells = {}};
  const auto from = reference(selector.when, frame.start) - limits_.look_back;
  const auto to = reference(selector.when, frame.end());
  // timestamp(x @ t offset o) is odd in Prometheus, 2 and 3 alike: it loads what the offset asks for, and
  // then looks at the time t in it. We are judged by Prometheus, so it is odd here too.
  const bool unmoved = times && selector.when.anchor != TimeModifiers::Anchor::none;
  std::size_t samples = 0;
  store_.select(selector.matchers, from, to, [&](const Labels& labels, std::span<const store::Point> points) {
    if (!fits_cells(out.rows() + 1, frame.steps) || !spend(frame.steps)) return;
    const auto before = out.rows();
    auto cells = out.add({&labels});
    std::size_t past = 0, found = 0;
    if (frame.steps == 1 && !unmoved) past = points.size();
    for (std::size_t step = 0; step < frame.steps; ++step) {
      const auto now =
          reference(selector.when, frame.at(step)) + (unmoved ? selector.when.offset : milliseconds{0});
      while (past < points.size() && points[past].at <= now) ++past;
      if (past == 0) continue;
      const auto& last = points[past - 1];
      if (last.at <= now - limits_.look_back || is_stale(last.value)) continue;
      cells[step] = times ? static_cast<double>(last.at.time_since_epoch().count()) / 1000 : last.value;
      ++found;
    }
    samples += found;
    if (found > 0 && fits(samples)) return;
    out.ids.resize(before);
    out.cells.resize(before * frame.steps);
  });
  return out;
}

Ranges Evaluator::ranges(const Node& node, const Frame& frame) {
  const auto& bare = unparenthesised(node);
  if (const auto* matrix = std::get_if<MatrixSelector>(&bare.is)) return select_ranges(*matrix, frame);
  return subquery_ranges(std::get<Subquery>(bare.is), frame);
}

Ranges Evaluator::select_ranges(const MatrixSelector& node, const Frame& frame) {
  Ranges out;
  out.range = node.range;
  out.when = &node.selector.when;
  const auto from = reference(node.selector.when, frame.start) - node.range;
  const auto to = reference(node.selector.when, frame.end());
  std::size_t copied = 0;
  store_.select(node.selector.matchers, from, to,
                [&](const Labels& labels, std::span<const store::Point> points) {
                  if (!spend(1 + points.size() / 4)) return;
                  const auto stale = [](const store::Point& point) { return is_stale(point.value); };
                  if (std::any_of(points.begin(), points.end(), stale)) {
                    copied += points.size();
                    if (!fits(copied)) return;
                    auto& living = out.owned.emplace_back(points.begin(), points.end());
                    std::erase_if(living, stale);
                    points = living;
                  }
                  out.ids.push_back({&labels});
                  out.points.push_back(points);
                });
  return out;
}

// The steps of a subquery are multiples of its resolution since the epoch, whatever the evaluation's time.
Frame Evaluator::inner_frame(const Subquery& node, const Frame& frame) {
  const auto interval = node.step.count() > 0 ? node.step : limits_.subquery_step;
  const auto after = (reference(node.when, frame.start) - node.range).time_since_epoch();
  const auto to = reference(node.when, frame.end()).time_since_epoch();
  auto start = after / interval * interval;
  if (start <= after) start += interval;
  if (start > to) return {.start = Timestamp{start}, .interval = interval, .steps = 0};
  return {.start = Timestamp{start},
          .interval = interval,
          .steps = static_cast<std::size_t>((to - start) / interval) + 1};
}

Ranges Evaluator::subquery_ranges(const Subquery& node, const Frame& frame) {
  Ranges out;
  out.range = node.range;
  out.when = &node.when;
  const auto inner = inner_frame(node, frame);
  if (inner.steps == 0) return out;
  const auto before = samples_;
  const auto block = evaluate(*node.expression, inner);
  samples_ = before;  // they live on as points, which the caller's window counts
  for (std::size_t i = 0; i < block.rows() && spend(inner.steps); ++i) {
    auto& points = out.owned.emplace_back();
    const auto row = block.row(i);
    for (std::size_t step = 0; step < inner.steps; ++step)
      if (!is_absent(row[step])) points.push_back({inner.at(step), row[step]});
    out.ids.push_back(block.ids[i]);
    out.points.emplace_back(points);
  }
  return out;
}

}  // namespace rdmend::promql
