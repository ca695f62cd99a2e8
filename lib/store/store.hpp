// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/sample.hpp"

namespace rdmend::store {

struct Point {
  Timestamp at{};
  double value = 0;  // is_stale(value) ends the series for instant look-back
};

// A label matcher of a selector. Regular expressions are RE2's, anchored at both ends, as Prometheus' are.
class Matcher {
 public:
  enum class Op { equal, not_equal, regex, not_regex };
  static Result<Matcher> make(Op op, std::string name, std::string value);
  [[nodiscard]] bool matches(std::string_view value) const;  // "" for an absent label
  [[nodiscard]] Op op() const { return op_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& value() const { return value_; }

 private:
  struct Regex;
  Op op_ = Op::equal;
  std::string name_, value_;
  std::shared_ptr<const Regex> regex_;
};

struct Limits {
  std::size_t max_bytes = std::size_t{64} << 20U;
  milliseconds retention = std::chrono::minutes{15};
};

struct Stats {
  std::size_t series = 0;
  std::size_t points = 0;
  std::size_t bytes = 0;              // what the store holds, counted
  std::uint64_t evicted_points = 0;   // dropped before their time, to stay under max_bytes: the oldest of the largest series
  std::uint64_t rejected_points = 0;  // out of order, or of a label set beyond kMostLabelBytes
};

inline constexpr std::size_t kMostLabelBytes = std::size_t{16} * 1024;  // of one series' names and values

// The recent past of every series, in bounded memory. One thread: the loop's.
//
// A series never runs backwards. When the wall clock is set back, set_back() takes its points along: the new clock is the right one,
// and what lies between two points stays as long as it was.
class Store {
 public:
  explicit Store(Limits limits);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void set_limits(Limits limits);
  // Appends the batch's samples and ends (with a staleness marker) the series its scope no longer has.
  void ingest(const Batch& batch);
  // Appends one point. A point not later than its series' last replaces it when the times are equal, else is rejected.
  void append(const Labels& labels, Timestamp at, double value);
  // Series that match all `matchers` and have a point in (from, to], in label order; those points oldest first. Labels and
  // spans live until the store next changes.
  using Visitor = std::function<void(const Labels& labels, std::span<const Point> points)>;
  void select(std::span<const Matcher> matchers, Timestamp from, Timestamp to, const Visitor& visit) const;
  // The last value of every series that is not stale and not older than `look_back` at `at`, in label order.
  using LatestVisitor = std::function<void(const Labels& labels, const Point& last)>;
  void latest(Timestamp at, milliseconds look_back, const LatestVisitor& visit) const;
  // Forgets points older than the retention at `now`, and series that have none left.
  void expire(Timestamp now);
  // The wall clock was set back by this much: so are all points.
  void set_back(milliseconds by);
  [[nodiscard]] Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::store
