// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/labels.hpp"
#include "model/sample.hpp"

namespace rdmend::promql {

// A series' identity inside one evaluation: labels that the store or the evaluator owns, seen with or without
// the metric's name. Most operators drop the name and change nothing else, so that this saves copying the
// labels.
struct Identity {
  const Labels* labels = nullptr;
  bool nameless = false;

  [[nodiscard]] std::string_view get(std::string_view name) const {
    return nameless && name == kMetricName ? std::string_view() : labels->get(name);
  }
  [[nodiscard]] Labels materialised() const;
};

// Which labels of a series count when two are compared.
struct LabelFilter {
  bool only = false;                   // those of `names`; else all but those and the metric's name
  std::span<const std::string> names;  // sorted
  bool everything = false;             // all of them, the metric's name too
};
inline const LabelFilter kWholeIdentity{.only = false, .names = {}, .everything = true};
Labels filtered(const Identity& identity, const LabelFilter& filter);

// Numbers label sets in the order they come: those that agree on the labels of the filter get one number.
class Numbering {
 public:
  explicit Numbering(LabelFilter filter, std::size_t expected = 16);
  std::uint32_t number(const Identity& identity);
  // Its number if it has one, else kNone.
  [[nodiscard]] std::uint32_t find(const Identity& identity) const;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::size_t hash;
    Identity identity;
  };
  void grow();
  [[nodiscard]] std::size_t place(const Identity& identity, std::size_t hash) const;

  LabelFilter filter_;
  std::vector<Known> known_;
  std::vector<std::uint32_t> table_;  // open addressing; 0 is free, else number + 1
};

// The values of a set of series at each step of an evaluation, a row a series. kAbsent marks a step without a
// value: the staleness marker, which no evaluation yields.
struct Block {
  std::size_t steps = 1;
  std::vector<Identity> ids;
  std::vector<double> cells;

  [[nodiscard]] std::size_t rows() const { return ids.size(); }
  [[nodiscard]] std::span<double> row(std::size_t i) { return std::span(cells).subspan(i * steps, steps); }
  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return std::span(cells).subspan(i * steps, steps);
  }
  // A new row without any value.
  std::span<double> add(const Identity& identity);
  [[nodiscard]] std::size_t present() const;
  void remove_empty_rows();
};
inline const double kAbsent = stale_marker();
inline bool is_absent(double value) {
  return is_stale(value);
}

}  // namespace rdmend::promql
