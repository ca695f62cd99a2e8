// SPDX-License-Identifier: Apache-2.0
#include "promql/label_functions.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "base/text.hpp"

namespace rdmend::promql {
namespace {

// A label that is built from others may not outgrow what the store takes.
constexpr std::size_t kMostValueBytes = store::kMostLabelBytes;

Block nothing(const Frame& frame) {
  return {.steps = frame.steps, .ids = {}, .cells = {}};
}

double seconds_of(Timestamp at) {
  return static_cast<double>(at.time_since_epoch().count()) / 1000;
}

const std::string& text_of(const NodePtr& node) {
  return std::get<StringLiteral>(unparenthesised(*node).is).value;
}

// The labels that the selector's equalities imply, for what absent() yields. One that is matched twice
// implies nothing.
Labels implied_labels(const Node& argument) {
  const auto& bare = unparenthesised(argument);
  const VectorSelector* selector = std::get_if<VectorSelector>(&bare.is);
  if (const auto* matrix = std::get_if<MatrixSelector>(&bare.is)) selector = &matrix->selector;
  Labels labels;
  if (selector == nullptr) return labels;
  std::unordered_set<std::string_view> seen;
  for (const auto& matcher : selector->matchers) {
    if (matcher.name() == kMetricName) continue;
    if (matcher.op() == store::Matcher::Op::equal && seen.insert(matcher.name()).second)
      labels.set(matcher.name(), matcher.value());
    else
      labels.erase(matcher.name());
  }
  return labels;
}

// 1 at the steps where `present` is false.
Block absence(Evaluator& evaluator, const Node& argument, const std::vector<bool>& present) {
  Block out{.steps = present.size(), .ids = {}, .cells = {}};
  if (std::find(present.begin(), present.end(), false) == present.end()) return out;
  auto cells = out.add({evaluator.keep(implied_labels(argument))});
  for (std::size_t step = 0; step < present.size(); ++step)
    if (!present[step]) cells[step] = 1;
  return out;
}

Block sorted(Evaluator& evaluator, const Call& call, const Frame& frame, bool descending) {
  auto block = evaluator.evaluate(*call.arguments[0], frame);
  if (frame.steps > 1) return block;  // as in Prometheus, the order of a range query is by labels
  std::vector<std::size_t> order(block.rows());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double x = block.cells[a], y = block.cells[b];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return descending ? x > y : x < y;
  });
  auto out = nothing(frame);
  for (const auto row : order) {
    out.ids.push_back(block.ids[row]);
    out.cells.push_back(block.cells[row]);
  }
  return out;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Expands $1, ${1}, $name, ${name} and $$ as Go's Regexp.Expand does: an unknown name is empty, a lone $
// stays.
class Replacement {
 public:
  Replacement(const RE2& regex, std::string_view text) : names_(regex.NamedCapturingGroups()), text_(text) {}

  [[nodiscard]] std::string expand(std::span<const re2::StringPiece> groups) const {
    std::string out;
    for (std::size_t at = 0; at < text_.size() && out.size() < kMostValueBytes;) {
      const auto length = reference_length(at);
      if (length > 0) append_group(out, text_.substr(at, length), groups);
      else out += text_[at];
      at += length > 0 ? length : text_.substr(at, 2) == "$$" ? 2 : 1;
    }
    return out;
  }

 private:
  // Of the reference that begins at `at`, 0 if it is none.
  [[nodiscard]] std::size_t reference_length(std::size_t at) const {
    if (text_[at] != '$') return 0;
    const bool braces = text_.substr(at, 2) == "${";
    std::size_t end = at + (braces ? 2 : 1);
    const auto begin = end;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    if (end == begin || (braces && (end == text_.size() || text_[end] != '}'))) return 0;
    return end + (braces ? 1 : 0) - at;
  }
  void append_group(std::string& out, std::string_view reference,
                    std::span<const re2::StringPiece> groups) const {
    std::string name;
    std::copy_if(reference.begin(), reference.end(), std::back_inserter(name), is_name_character);
    std::size_t index = 0;
    if (name.find_first_not_of("0123456789") == std::string::npos)
      index = name.size() < 4 && (name.size() == 1 || name[0] != '0') ? std::stoul(name) : groups.size();
    else if (const auto known = names_.find(name); known != names_.end())
      index = static_cast<std::size_t>(known->second);
    else
      return;
    if (index < groups.size() && groups[index].data() != nullptr)
      out.append(groups[index].data(), groups[index].size());
  }

  std::map<std::string, int> names_;
  std::string_view text_;
};

void set_label(Evaluator& evaluator, Identity& identity, std::string_view name, std::string_view value) {
  auto labels = identity.materialised();
  labels.set(name, value);
  identity = {evaluator.keep(std::move(labels))};
}

}  // namespace

bool is_label_name(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const auto lead = static_cast<unsigned char>(name[at]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || at + length > name.size()) return false;
    std::uint32_t rune = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(name[at + i]) & 0xc0) != 0x80) return false;
      rune = rune << 6 | (static_cast<unsigned char>(name[at + i]) & 0x3f);
    }
    const bool overlong = (length == 3 && rune < 0x800) || (length == 4 && rune < 0x10000);
    if (overlong || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000)) return false;
    at += length;
  }
  return !name.empty();
}

Block absent(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto block = evaluator.evaluate(*call.arguments[0], frame);
  if (evaluator.failed()) return nothing(frame);
  std::vector<bool> present(frame.steps, false);
  for (std::size_t i = 0; i < block.rows() && evaluator.spend(frame.steps); ++i)
    for (std::size_t step = 0; step < frame.steps; ++step)
      if (!is_absent(block.row(i)[step])) present[step] = true;
  return absence(evaluator, *call.arguments[0], present);
}

Block absent_over_time(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto ranges = evaluator.ranges(*call.arguments[0], frame);
  if (evaluator.failed()) return nothing(frame);
  std::vector<bool> present(frame.steps, false);
  for (const auto points : ranges.points) {
    std::size_t past = 0;
    for (std::size_t step = 0; step < frame.steps && evaluator.spend(1); ++step) {
      const auto to = evaluator.reference(*ranges.when, frame.at(step));
      while (past < points.size() && points[past].at <= to) ++past;
      if (past > 0 && points[past - 1].at > to - ranges.range) present[step] = true;
    }
  }
  return absence(evaluator, *call.arguments[0], present);
}

Block label_join(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto& target = text_of(call.arguments[1]);
  const auto& separator = text_of(call.arguments[2]);
  for (std::size_t i = 3; i < call.arguments.size(); ++i)
    if (const auto& name = text_of(call.arguments[i]); !is_label_name(name))
      evaluator.fail("invalid source label name in label_join(): " + printable(name));
  if (!is_label_name(target))
    evaluator.fail("invalid destination label name in label_join(): " + printable(target));
  auto block = evaluator.evaluate(*call.arguments[0], frame);
  for (auto& id : block.ids) {
    if (!evaluator.spend(8)) break;
    std::string value;
    for (std::size_t i = 3; i < call.arguments.size(); ++i) {
      if (i > 3) value += separator;
      value += id.get(text_of(call.arguments[i]));
    }
    if (value.size() > kMostValueBytes) evaluator.fail("label_join() makes a label that is too long");
    set_label(evaluator, id, target, value);
  }
  evaluator.merge_equal(block);
  return block;
}

Block label_replace(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto& target = text_of(call.arguments[1]);
  const auto& source = text_of(call.arguments[3]);
  const auto& pattern = text_of(call.arguments[4]);
  RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  options.set_max_mem(1 << 20);
  const RE2 regex(pattern, options);
  if (!regex.ok())
    evaluator.fail(fmt::format("invalid regular expression in label_replace(): {}", printable(pattern)));
  if (!is_label_name(target))
    evaluator.fail("invalid destination label name in label_replace(): " + printable(target));
  auto block = evaluator.evaluate(*call.arguments[0], frame);
  if (evaluator.failed()) return block;
  const Replacement replacement(regex, text_of(call.arguments[2]));
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) + 1);
  for (auto& id : block.ids) {
    const auto value = id.get(source);
    if (!evaluator.spend(8 + value.size() / 16)) break;
    const re2::StringPiece subject(value.data() == nullptr ? "" : value.data(), value.size());
    if (!regex.Match(subject, 0, subject.size(), RE2::ANCHOR_BOTH, groups.data(),
                     static_cast<int>(groups.size())))
      continue;
    set_label(evaluator, id, target, replacement.expand(groups));
  }
  evaluator.merge_equal(block);
  return block;
}

Block scalar(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto block = evaluator.evaluate(*call.arguments[0], frame);
  auto out = nothing(frame);
  auto cells = out.add({evaluator.no_labels()});
  for (std::size_t step = 0; step < frame.steps; ++step) {
    cells[step] = std::numeric_limits<double>::quiet_NaN();
    std::size_t found = 0;
    for (std::size_t i = 0; i < block.rows() && evaluator.spend(1); ++i)
      if (const double cell = block.row(i)[step]; !is_absent(cell) && ++found == 1) cells[step] = cell;
    if (found > 1) cells[step] = std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

Block sort(Evaluator& evaluator, const Call& call, const Frame& frame) {
  return sorted(evaluator, call, frame, false);
}
Block sort_desc(Evaluator& evaluator, const Call& call, const Frame& frame) {
  return sorted(evaluator, call, frame, true);
}

Block time(Evaluator& evaluator, const Call&, const Frame& frame) {
  auto out = nothing(frame);
  auto cells = out.add({evaluator.no_labels()});
  for (std::size_t step = 0; step < frame.steps; ++step) cells[step] = seconds_of(frame.at(step));
  return out;
}

// Of a selector the time of its points, of any other vector that of the evaluation.
Block timestamp(Evaluator& evaluator, const Call& call, const Frame& frame) {
  const auto& argument = unparenthesised(*call.arguments[0]);
  const auto* selector = std::get_if<VectorSelector>(&argument.is);
  auto block =
      selector != nullptr ? evaluator.instants(*selector, frame, true) : evaluator.evaluate(argument, frame);
  for (std::size_t i = 0; i < block.rows() && evaluator.spend(frame.steps); ++i) {
    for (std::size_t step = 0; step < frame.steps && selector == nullptr; ++step)
      if (auto& cell = block.row(i)[step]; !is_absent(cell)) cell = seconds_of(frame.at(step));
  }
  evaluator.drop_names(block);
  return block;
}

Block vector(Evaluator& evaluator, const Call& call, const Frame& frame) {
  return evaluator.evaluate(*call.arguments[0], frame);
}

}  // namespace rdmend::promql
