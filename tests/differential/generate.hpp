// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "differential/grammar.hpp"
#include "differential/rng.hpp"
#include "differential/series.hpp"

namespace rdmend::differential {

struct Case {
  std::string expression;
  bool range = false;
  Timestamp start{};  // the time of an instant query
  Timestamp end{};
  milliseconds step{0};
  bool ordered = false;  // sort or sort_desc stands at the top
  Used used;
};

// One random query. What could differ between two right engines by rounding alone is kept out: see Traits.
Case make_case(Rng& rng);

// A piece of an expression, and what it may be used for.
struct Traits {
  bool exact = true;     // no rounding can be in its values, so that a function with jumps (floor, ==) may take it
  bool finite = true;    // neither NaN nor infinity
  bool distinct = false; // no ties: topk may take it
};
struct Piece {
  std::string text;
  Traits traits{};
  std::vector<std::string> labels{};  // that its elements are expected to have
  bool atom = true;                 // needs no parentheses
};

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}
  // What the piece must be: the generator tries again until it is.
  struct Need {
    bool exact = false;
    bool finite = false;
  };
  Piece vector(int depth, Need need);
  Piece scalar(int depth, bool exact);
  Piece top_sort();
  std::string matrix(int depth);
  std::string string_literal(const std::string& text);
  std::string broken();
  Used used;

 private:
  // selectors.cpp
  Piece selector(Need need, bool distinct = false);
  std::string matchers(const Metric& metric);
  std::string matcher(const std::string& label);
  std::string modifiers(bool& fixed);
  std::string duration(milliseconds length);
  struct Range {
    std::string text;
    Traits traits;
    std::vector<std::string> labels;
  };
  Range range(int depth, bool of_counter, Need need);
  Range range_selector(bool of_counter, Need need);
  Range subquery(int depth, bool of_counter, Need need);

  // calls.cpp
  Piece call(int depth, Need need);
  Piece apply(const Function& function, int depth, Need need);
  Piece aggregate(int depth, Need need);
  Piece replace(int depth, Need need);
  Piece join(int depth, Need need);
  Piece limited(const Aggregation& aggregation);
  std::string grouping(const std::vector<std::string>& labels, std::vector<std::string>& kept);

  // operations.cpp
  Piece with_scalar(int depth, Need need);
  Piece with_vector(int depth, Need need);
  Piece set_operation(int depth, Need need);
  std::string matching(Piece& left, Piece& right, const std::string& op, std::vector<std::string>& result);
  std::string operand(const Piece& piece);
  Traits combined(const std::string& op, const Traits& left, const Traits& right, bool simple) const;
  Piece number(bool exact);

  Piece attempt(int depth, Need need);
  void note(const std::string& item) { used.insert(item); }
  std::string keyword(const std::string& word);  // in a random case, as keywords may be
  std::string list(const std::vector<std::string>& names);
  std::vector<std::string> some_of(const std::vector<std::string>& names);

  Rng& rng_;
  // The times that the inside of a subquery is evaluated at are multiples of 500 ms, those of a query are not; a subquery's
  // range is chosen so that its left edge never is one of its own steps.
  // Prometheus 2 moves predict_linear's range on with each step even when an @ holds it; 3 does not.
  bool no_at_ = false;
  int subqueries_ = 0;  // that the piece being made stands in
};

}  // namespace rdmend::differential
