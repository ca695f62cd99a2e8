// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "differential/generate.hpp"
#include "model/labels.hpp"
#include "store/store.hpp"

namespace rdmend::differential {

// The resolution of a subquery that gives none; Prometheus takes its evaluation interval.
inline constexpr seconds kSubqueryStep{30};

// What either side says to a query.
struct Answer {
  enum class Kind { parse_error, execution_error, scalar, string, vector, matrix };
  Kind kind = Kind::execution_error;
  std::string text;            // of an error or a string
  double scalar = 0;
  std::vector<Series> series;  // of a vector each with one point

  [[nodiscard]] bool failed() const { return kind == Kind::parse_error || kind == Kind::execution_error; }
  [[nodiscard]] bool empty() const { return failed() || ((kind == Kind::vector || kind == Kind::matrix) && series.empty()); }
};
const char* kind_name(Answer::Kind kind);
// For a person, cut after some series.
std::string describe(const Answer& answer);

// How the answers differ, "" when they do not: the same label sets, values within 1e-9 of each other, NaN equal to NaN; of
// errors the kind. The order counts only when `ordered`, and then only that of the values.
std::string difference(const Answer& theirs, const Answer& ours, bool ordered);

// rdmend's answer.
class Ours {
 public:
  explicit Ours(const std::vector<Series>& series);
  [[nodiscard]] Answer ask(const Case& query) const;

 private:
  store::Store store_;
};

}  // namespace rdmend::differential
