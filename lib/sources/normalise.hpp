// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sources/counter_tracker.hpp"
#include "sources/drivers.hpp"

namespace rdmend::sources {

// A normalised series' value.
struct Signal {
  std::string_view series;
  std::string priority;  // "" where there is none
  double value = 0;
};

// Turns the counters of one port (or device) into normalised series, by signal_table(). The first alternative that the
// device has is kept to; should it have to change, the series goes on from where it stood, so that no rate sees a leap.
class Normaliser {
 public:
  Normaliser(Driver driver, bool infiniband);
  // The signals that come from `set`, which has just been read. One whose counter failed this time is left out.
  std::vector<Signal> of(CounterSet set, const CounterTracker& counters);
  // Series that this port has had.
  [[nodiscard]] bool has(std::string_view series) const;

 private:
  struct Term {
    CounterSet set = CounterSet::hardware;
    std::string name;
    double scale = 1;
  };
  // A row of the table for one driver and priority: all devices of that driver share it.
  struct Wanted {
    std::string_view series;
    std::string priority;
    std::vector<std::vector<Term>> alternatives;
  };
  struct Line {
    const Wanted* wanted = nullptr;
    std::optional<std::size_t> chosen{};
    std::vector<std::string> members{};  // the names that are summed
    double offset = 0;
    double last = 0;
  };
  static std::optional<Term> parse_term(std::string_view text, const std::string& priority, bool infiniband);
  static std::vector<std::vector<Term>> parse_cell(std::string_view cell, const std::string& priority, bool infiniband);
  static std::vector<Wanted> parse_table(Driver driver, bool infiniband);
  static void choose(Line& line, const CounterTracker& counters);
  std::vector<Line> lines_;
  std::optional<std::uint64_t> shape_;  // of the counters that the lines have chosen from
};

}  // namespace rdmend::sources
