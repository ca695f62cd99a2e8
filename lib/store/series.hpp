// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "store/store.hpp"

namespace rdmend::store {

// The points of one series, oldest first and contiguous, so that a window of them is a span: the live points
// slide through one buffer and move to its front when they reach its end.
class Series {
 public:
  explicit Series(Labels labels);

  [[nodiscard]] const Labels& labels() const { return labels_; }
  [[nodiscard]] std::span<const Point> points() const { return std::span(buffer_).subspan(first_); }
  [[nodiscard]] std::span<const Point> between(Timestamp after, Timestamp to) const;  // (after, to]
  [[nodiscard]] const Point* latest(Timestamp after, Timestamp to) const;  // of those; null: none
  [[nodiscard]] bool empty() const { return first_ == buffer_.size(); }
  [[nodiscard]] std::size_t size() const { return buffer_.size() - first_; }
  [[nodiscard]] const Point& last() const { return last_; }
  // What it costs, the index's share included.
  [[nodiscard]] std::size_t bytes() const { return fixed_bytes_ + buffer_.capacity() * sizeof(Point); }

  void push(Point point);  // later than the last
  void replace_last(double value) { buffer_.back().value = last_.value = value; }
  void drop_front(std::size_t count);
  void shrink();  // gives back what it does not use
  // Drops the points at or before `oldest`; returns how many.
  std::size_t drop_until(Timestamp oldest);
  void set_back(milliseconds by);

  std::uint64_t mark = 0;  // of the last batch that had it

 private:
  Labels labels_;
  std::vector<Point> buffer_;
  Point last_{};  // as it is in the buffer, too: a scrape wants nothing else, and need not go there
  std::size_t first_ = 0;
  std::size_t fixed_bytes_ = 0;
};

}  // namespace rdmend::store
