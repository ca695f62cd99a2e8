// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmend {

inline constexpr std::string_view kMetricName = "__name__";

// A series' identity: label names and values, sorted by name, each name once, no empty value (in Prometheus an empty value
// is an absent label). The metric's name is the label "__name__". Copies share one immutable list: what a source made is what
// the store holds, and is told from others by its address first.
class Labels {
 public:
  using Pair = std::pair<std::string, std::string>;
  Labels() = default;
  Labels(std::initializer_list<Pair> pairs);
  explicit Labels(std::vector<Pair> pairs);

  // "" when absent.
  [[nodiscard]] std::string_view get(std::string_view name) const;
  [[nodiscard]] std::string_view metric() const { return get(kMetricName); }
  // An empty value erases.
  void set(std::string_view name, std::string_view value);
  void erase(std::string_view name);
  [[nodiscard]] bool empty() const { return !pairs_; }
  [[nodiscard]] std::size_t size() const { return pairs().size(); }
  [[nodiscard]] auto begin() const { return pairs().begin(); }
  [[nodiscard]] auto end() const { return pairs().end(); }
  [[nodiscard]] std::size_t hash() const;
  // Prometheus' notation: up{device="mlx5_0",port="1"}; {} when empty.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Labels& a, const Labels& b) { return a.pairs_ == b.pairs_ || a.pairs() == b.pairs(); }
  friend auto operator<=>(const Labels& a, const Labels& b) { return a.pairs() <=> b.pairs(); }

 private:
  [[nodiscard]] const std::vector<Pair>& pairs() const;
  void keep(std::vector<Pair> pairs);
  std::shared_ptr<const std::vector<Pair>> pairs_;  // null when there are none
};

struct LabelsHash {
  std::size_t operator()(const Labels& labels) const { return labels.hash(); }
};

}  // namespace rdmend
