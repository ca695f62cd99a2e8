// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "promql/evaluator.hpp"
#include "promql/format.hpp"
#include "promql/label_functions.hpp"
#include "promql/lexer.hpp"
#include "promql/range_functions.hpp"

namespace rdmend::promql {
namespace {


// What a group has gathered at one step. One struct for all: they are few, and this keeps the loop over
// series tight.
struct Gathered {
  double count = 0;
  double value = 0;  // of sum, min, max; of stddev the squares
  double mean = 0;   // of stddev
  KahanSum sum;
  KahanMean average;
  std::vector<double> values;  // of quantile
};

using Gather = void (*)(Gathered& group, double value);
using Finish = double (*)(Gathered& group, double parameter);
struct SimpleRow {
  Gather gather;
  Finish finish;
};

void gather_square(Gathered& group, double value) {
  if (group.count == 1) {
    group.mean = value;
    group.value = std::isfinite(value) ? 0 : kNaN;
    return;
  }
  const double distance = value - group.mean;
  group.mean += distance / group.count;
  group.value += distance * (value - group.mean);
}

// By AggregateOp; topk, bottomk and count_values are made in another way.
constexpr std::array<SimpleRow, 11> kSimple{{
    {[](Gathered& g, double v) { g.count == 1 ? void(g.sum.sum = v) : g.sum.add(v); },
     [](Gathered& g, double) { return g.sum.sum + g.sum.compensation; }},  // sum
    {[](Gathered& g, double v) {
       if (g.count == 1 || v < g.value || std::isnan(g.value)) g.value = v;
     },
     [](Gathered& g, double) { return g.value; }},  // min
    {[](Gathered& g, double v) {
       if (g.count == 1 || v > g.value || std::isnan(g.value)) g.value = v;
     },
     [](Gathered& g, double) { return g.value; }},  // max
    {[](Gathered& g, double v) { g.average.add(v); },
     [](Gathered& g, double) { return g.average.mean(); }},                             // avg
    {[](Gathered&, double) {}, [](Gathered& g, double) { return g.count; }},            // count
    {[](Gathered&, double) {}, [](Gathered&, double) { return 1.0; }},                  // group
    {gather_square, [](Gathered& g, double) { return std::sqrt(g.value / g.count); }},  // stddev
    {gather_square, [](Gathered& g, double) { return g.value / g.count; }},             // stdvar
    {nullptr, nullptr},                                                                 // topk
    {nullptr, nullptr},                                                                 // bottomk
    {[](Gathered& g, double v) { g.values.push_back(v); },
     [](Gathered& g, double q) { return quantile(q, g.values); }},  // quantile
}};

// Which group each row belongs to, and the groups' labels.
struct Groups {
  std::vector<std::uint32_t> of_row;
  std::vector<Identity> ids;
};

Groups group_rows(Evaluator& evaluator, const Aggregate& node, const Block& input, bool with_labels) {
  const LabelFilter filter{.only = !node.without, .names = node.labels};
  Groups groups;
  groups.of_row.reserve(input.rows());
  Numbering numbering(filter);
  for (std::size_t i = 0; i < input.rows() && evaluator.spend(1); ++i) {
    const auto number = numbering.number(input.ids[i]);
    groups.of_row.push_back(number);
    if (number < groups.ids.size()) continue;
    if (!with_labels)
      groups.ids.push_back(input.ids[i]);
    else if (filter.only && filter.names.empty())
      groups.ids.push_back({evaluator.no_labels()});
    else if (!filter.only && filter.names.empty())
      groups.ids.push_back({input.ids[i].labels, true});
    else
      groups.ids.push_back({evaluator.keep(filtered(input.ids[i], filter))});
  }
  groups.of_row.resize(input.rows());
  return groups;
}

Block simple(Evaluator& evaluator, const Aggregate& node, const Block& input,
             std::span<const double> parameter) {
  const auto& row = kSimple[static_cast<std::size_t>(node.op)];
  const auto groups = group_rows(evaluator, node, input, true);
  Block out{.steps = input.steps, .ids = groups.ids, .cells = {}};
  if (!evaluator.fits_cells(out.rows(), out.steps)) return out;
  out.cells.assign(out.rows() * out.steps, kAbsent);
  std::vector<Gathered> gathered(out.rows());
  for (std::size_t step = 0; step < input.steps; ++step) {
    for (auto& group : gathered) {
      auto values = std::move(group.values);
      values.clear();
      group = {};
      group.values = std::move(values);
    }
    for (std::size_t i = 0; i < input.rows(); ++i) {
      if (!evaluator.spend(1)) return out;
      const double value = input.row(i)[step];
      if (is_absent(value)) continue;
      auto& group = gathered[groups.of_row[i]];
      ++group.count;
      row.gather(group, value);
    }
    for (std::size_t i = 0; i < out.rows(); ++i)
      if (gathered[i].count > 0)
        out.row(i)[step] = row.finish(gathered[i], parameter.empty() ? 0 : parameter[step]);
  }
  out.remove_empty_rows();
  return out;
}

// The k best rows of a group at one step: a heap with the worst on top. Its moves are those of Prometheus'
// heap, since they decide which of equal values stay.
class Best {
 public:
  Best(bool largest, std::size_t k) : largest_(largest), k_(k) {}

  void offer(double value, std::size_t row) {
    if (heap_.size() < k_) {
      heap_.push_back({value, row});
      rise(heap_.size() - 1);
    } else if ((largest_ ? heap_[0].value < value : heap_[0].value > value) ||
               (std::isnan(heap_[0].value) && !std::isnan(value))) {
      heap_[0] = {value, row};
      sink();
    }
  }
  struct Entry {
    double value;
    std::size_t row;
  };
  // Best first.
  std::vector<Entry>& sorted() {
    std::stable_sort(heap_.begin(), heap_.end(), [&](const Entry& a, const Entry& b) {
      if (std::isnan(a.value) || std::isnan(b.value)) return !std::isnan(a.value) && std::isnan(b.value);
      return largest_ ? a.value > b.value : a.value < b.value;
    });
    return heap_;
  }

 private:
  [[nodiscard]] bool worse(std::size_t a, std::size_t b) const {
    const double x = heap_[a].value, y = heap_[b].value;
    return std::isnan(x) || (largest_ ? x < y : x > y);
  }
  void rise(std::size_t at) {
    for (; at > 0 && worse(at, (at - 1) / 2); at = (at - 1) / 2) std::swap(heap_[at], heap_[(at - 1) / 2]);
  }
  void sink() {
    for (std::size_t at = 0, child = 1; child < heap_.size(); at = child, child = 2 * at + 1) {
      if (child + 1 < heap_.size() && worse(child + 1, child)) ++child;
      if (!worse(child, at)) return;
      std::swap(heap_[at], heap_[child]);
    }
  }

  bool largest_;
  std::size_t k_;
  std::vector<Entry> heap_;
};

// Whether k can be used at all, judged over all steps as Prometheus does.
bool usable(Evaluator& evaluator, std::span<const double> parameter) {
  constexpr double kMost = 9223372036854775807.0;
  double least = std::numeric_limits<double>::max(), most = std::numeric_limits<double>::lowest();
  bool any_nan = false;
  for (const double k : parameter) {
    any_nan = any_nan || std::isnan(k);
    least = std::min(least, k);
    most = std::max(most, k);
  }
  if (!any_nan && most < 1) return false;
  if (any_nan) evaluator.fail("Parameter value is NaN");
  if (least <= -kMost) evaluator.fail(fmt::format("Scalar value {} underflows int64", format_general(least)));
  if (most >= kMost) evaluator.fail(fmt::format("Scalar value {} overflows int64", format_general(most)));
  return !evaluator.failed();
}

Block best(Evaluator& evaluator, const Aggregate& node, const Block& input,
           std::span<const double> parameter) {
  Block out{.steps = input.steps, .ids = {}, .cells = {}};
  if (!usable(evaluator, parameter)) return out;
  const auto groups = group_rows(evaluator, node, input, false);
  if (input.steps > 1) {
    out.ids = input.ids;
    out.cells.assign(input.cells.size(), kAbsent);
  }
  for (std::size_t step = 0; step < input.steps; ++step) {
    if (parameter[step] < 1) continue;
    const auto k = static_cast<std::size_t>(std::min(parameter[step], static_cast<double>(input.rows())));
    std::vector<Best> heaps(groups.ids.size(), Best(node.op == AggregateOp::topk, k));
    for (std::size_t i = 0; i < input.rows() && evaluator.spend(2); ++i)
      if (const double value = input.row(i)[step]; !is_absent(value)) heaps[groups.of_row[i]].offer(value, i);
    for (auto& heap : heaps)
      for (const auto& entry : heap.sorted()) {
        if (input.steps == 1)
          out.add(input.ids[entry.row])[0] = entry.value;
        else
          out.row(entry.row)[step] = entry.value;
      }
  }
  return out;
}

Block count_values(Evaluator& evaluator, const Aggregate& node, const Block& input) {
  const auto& label = std::get<StringLiteral>(unparenthesised(*node.parameter).is).value;
  if (!is_label_name(label)) evaluator.fail("invalid label name " + quote(label));
  auto names = node.labels;
  if (!node.without && !std::binary_search(names.begin(), names.end(), label))
    names.insert(std::upper_bound(names.begin(), names.end(), label), label);
  const LabelFilter filter{.only = !node.without, .names = names};
  Block out{.steps = input.steps, .ids = {}, .cells = {}};
  Numbering numbering(kWholeIdentity);
  for (std::size_t step = 0; step < input.steps && !evaluator.failed(); ++step)
    for (std::size_t i = 0; i < input.rows(); ++i) {
      if (!evaluator.spend(16) || !evaluator.fits_cells(out.rows() + 1, out.steps)) return out;
      const double value = input.row(i)[step];
      if (is_absent(value)) continue;
      auto labels = input.ids[i].materialised();
      labels.set(label, format_plain(value));
      labels = filtered({&labels}, filter);
      const auto number = numbering.find({&labels});
      if (number == Numbering::kNone) {
        const Identity id{evaluator.keep(std::move(labels))};
        numbering.number(id);
        out.add(id)[step] = 1;
      } else {
        auto& cell = out.row(number)[step];
        cell = is_absent(cell) ? 1 : cell + 1;
      }
    }
  return out;
}

}  // namespace

Block aggregate(Evaluator& evaluator, const Aggregate& node, const Frame& frame) {
  std::vector<double> parameter;
  if (node.parameter && node.op != AggregateOp::count_values)
    parameter = evaluator.scalars(*node.parameter, frame);
  const auto input = evaluator.evaluate(*node.expression, frame);
  if (evaluator.failed()) return {.steps = frame.steps, .ids = {}, .cells = {}};
  switch (node.op) {
    case AggregateOp::topk:
    case AggregateOp::bottomk:
      return best(evaluator, node, input, parameter);
    case AggregateOp::count_values:
      return count_values(evaluator, node, input);
    default:
      return simple(evaluator, node, input, parameter);
  }
}

}  // namespace rdmend::promql
