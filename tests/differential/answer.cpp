// SPDX-License-Identifier: Apache-2.0
#include "differential/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rdmend::differential {
namespace {

bool equal(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  if (left == right) return true;
  return std::abs(left - right) <= 1e-9 * std::max(std::abs(left), std::abs(right));
}

std::string point_difference(const Series& theirs, const Series& ours, bool timed) {
  if (theirs.points.size() != ours.points.size())
    return fmt::format("{}: {} points, ours has {}", theirs.labels.text(), theirs.points.size(), ours.points.size());
  for (std::size_t index = 0; index < theirs.points.size(); ++index) {
    const store::Point& left = theirs.points[index];
    const store::Point& right = ours.points[index];
    if (timed && left.at != right.at)
      return fmt::format("{}: point {} at {}, ours at {}", theirs.labels.text(), index, left.at.time_since_epoch().count(),
                         right.at.time_since_epoch().count());
    if (!equal(left.value, right.value))
      return fmt::format("{}: {} at {}, ours {}", theirs.labels.text(), left.value, left.at.time_since_epoch().count(), right.value);
  }
  return {};
}

std::string order_difference(const std::vector<Series>& theirs, const std::vector<Series>& ours) {
  for (std::size_t index = 0; index < theirs.size(); ++index)
    if (!equal(theirs[index].points.front().value, ours[index].points.front().value)) return fmt::format("element {} is another", index);
  return {};
}

std::string series_difference(std::vector<Series> theirs, std::vector<Series> ours, bool timed) {
  std::ranges::sort(theirs, {}, &Series::labels);
  std::ranges::sort(ours, {}, &Series::labels);
  for (std::size_t index = 0; index < std::max(theirs.size(), ours.size()); ++index) {
    if (index >= ours.size() || (index < theirs.size() && theirs[index].labels < ours[index].labels))
      return fmt::format("ours lacks {}", theirs[index].labels.text());
    if (index >= theirs.size() || theirs[index].labels != ours[index].labels)
      return fmt::format("ours alone has {}", ours[index].labels.text());
    if (std::string difference = point_difference(theirs[index], ours[index], timed); !difference.empty()) return difference;
  }
  return {};
}

}  // namespace

const char* kind_name(Answer::Kind kind) {
  static constexpr std::array kNames{"parse error", "execution error", "scalar", "string", "vector", "matrix"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string describe(const Answer& answer) {
  constexpr std::size_t kMost = 12;
  std::string text = kind_name(answer.kind);
  if (answer.failed() || answer.kind == Answer::Kind::string) return text + " '" + answer.text + "'";
  if (answer.kind == Answer::Kind::scalar) return text + fmt::format(" {}", answer.scalar);
  text += fmt::format(" of {}", answer.series.size());
  for (std::size_t index = 0; index < std::min(kMost, answer.series.size()); ++index) {
    text += "\n    " + answer.series[index].labels.text();
    for (std::size_t point = 0; point < std::min(kMost, answer.series[index].points.size()); ++point)
      text += fmt::format(" {}@{}", answer.series[index].points[point].value, answer.series[index].points[point].at.time_since_epoch().count());
  }
  return text;
}

std::string difference(const Answer& theirs, const Answer& ours, bool ordered) {
  if (theirs.kind != ours.kind) return fmt::format("{}, ours {}", kind_name(theirs.kind), kind_name(ours.kind));
  switch (theirs.kind) {
    case Answer::Kind::parse_error:
    case Answer::Kind::execution_error: return {};
    case Answer::Kind::scalar:
      return equal(theirs.scalar, ours.scalar) ? "" : fmt::format("{}, ours {}", theirs.scalar, ours.scalar);
    case Answer::Kind::string: return theirs.text == ours.text ? "" : fmt::format("'{}', ours '{}'", theirs.text, ours.text);
    case Answer::Kind::vector:
    case Answer::Kind::matrix: break;
  }
  std::string found = series_difference(theirs.series, ours.series, theirs.kind == Answer::Kind::matrix);
  if (found.empty() && ordered && theirs.kind == Answer::Kind::vector) found = order_difference(theirs.series, ours.series);
  return found;
}

}  // namespace rdmend::differential
