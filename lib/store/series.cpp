// SPDX-License-Identifier: Apache-2.0
#include "store/series.hpp"

#include <algorithm>

namespace rdmend::store {
namespace {

constexpr std::size_t kIndexBytesPerLabel =
    24;  // a posting, and its share of the list and of the table of lists

std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > 15 ? text.capacity() + 1 : 0;
}

std::size_t label_bytes(const Labels& labels) {
  std::size_t sum = 0;
  for (const auto& pair : labels)
    sum += sizeof(pair) + heap_bytes(pair.first) + heap_bytes(pair.second) + kIndexBytesPerLabel;
  return sum;
}

auto first_after(std::span<const Point> points, Timestamp at) {
  return std::upper_bound(points.begin(), points.end(), at,
                          [](Timestamp t, const Point& point) { return t < point.at; });
}

}  // namespace

Series::Series(Labels labels) : labels_(std::move(labels)) {
  // The table by labels, the list of all, the slot and the scope's handle come on top of the series itself.
  fixed_bytes_ = sizeof(Series) + label_bytes(labels_) + 96;
}

std::span<const Point> Series::between(Timestamp after, Timestamp to) const {
  const auto all = points();
  if (all.empty() || after >= to) return {};
  const auto begin = all.front().at > after ? all.begin() : first_after(all, after);
  const auto end = all.back().at <= to ? all.end() : first_after(all, to);
  return {begin, end};
}

const Point* Series::latest(Timestamp after, Timestamp to) const {
  if (empty()) return nullptr;
  if (last().at <= to) return last().at > after ? &last() : nullptr;
  const auto points = between(after, to);
  return points.empty() ? nullptr : &points.back();
}

void Series::push(Point point) {
  if (buffer_.size() == buffer_.capacity()) {
    if (first_ > buffer_.size() / 4) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    } else {
      buffer_.reserve(buffer_.size() + buffer_.size() / 2 + 4);
    }
  }
  buffer_.push_back(point);
  last_ = point;
}

void Series::drop_front(std::size_t count) {
  first_ += std::min(count, size());
  if (size() * 4 > buffer_.capacity() || buffer_.capacity() <= 8) {
    if (first_ == buffer_.size()) {
      buffer_.clear();
      first_ = 0;
    }
    return;
  }
  shrink();
}

void Series::shrink() {
  buffer_ = std::vector<Point>(buffer_.begin() + static_cast<std::ptrdiff_t>(first_), buffer_.end());
  first_ = 0;
}

std::size_t Series::drop_until(Timestamp oldest) {
  // Few are too old each time, and each but once: looked for from the front.
  const auto before = size();
  const auto kept = points();
  const auto young = std::find_if(kept.begin(), kept.end(), [&](const Point& point) { return point.at > oldest; });
  if (young != kept.begin()) drop_front(static_cast<std::size_t>(young - kept.begin()));
  return before - size();
}

void Series::set_back(milliseconds by) {
  for (Point& point : buffer_) point.at -= by;
  last_.at -= by;
}

}  // namespace rdmend::store
