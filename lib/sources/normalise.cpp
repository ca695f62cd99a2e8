// SPDX-License-Identifier: Apache-2.0
#include "sources/normalise.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "sources/signal_table.hpp"

namespace rdmend::sources {
namespace {

// The parts of `text` between the separators.
std::vector<std::string_view> parts(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  while (true) {
    const auto at = text.find(separator);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + separator.size());
  }
}

const SignalRow* row_for(std::string_view series, Driver driver) {
  const SignalRow* any = nullptr;
  for (const auto& row : signal_table()) {
    if (row.series != series) continue;
    if (row.driver == driver) return &row;
    if (row.driver == Driver::unknown) any = &row;
  }
  return any;
}

// A fall of one member of a sum would look like a reset of all: sums are made of what never falls.
double value_of(const Counter& counter, bool in_sum) {
  return static_cast<double>(in_sum ? counter.total + counter.lost : counter.total);
}

}  // namespace

std::optional<Normaliser::Term> Normaliser::parse_term(std::string_view text, const std::string& priority, bool infiniband) {
  Term term;
  switch (text.front()) {
    case 'c': term.set = CounterSet::pma; break;
    case 'i':
      if (!infiniband) return std::nullopt;
      term.set = CounterSet::pma;
      break;
    case 'e': term.set = CounterSet::ethtool; break;
    case 'n': term.set = CounterSet::netdev; break;
    case 'd': term.set = CounterSet::dcb; break;
    default: break;
  }
  text.remove_prefix(2);
  if (const auto star = text.find('*'); star != std::string_view::npos) {
    const auto factor = text.substr(star + 1);
    std::from_chars(factor.data(), factor.data() + factor.size(), term.scale);
    text = text.substr(0, star);
  }
  term.name = text;
  if (const auto hash = term.name.find('#'); hash != std::string::npos) term.name.replace(hash, 1, priority);
  return term;
}

std::vector<std::vector<Normaliser::Term>> Normaliser::parse_cell(std::string_view cell, const std::string& priority, bool infiniband) {
  std::vector<std::vector<Term>> alternatives;
  for (const auto alternative : parts(cell, " | ")) {
    std::vector<Term> terms;
    for (const auto text : parts(alternative, " + "))
      if (auto term = parse_term(text, priority, infiniband)) terms.push_back(std::move(*term));
    if (!terms.empty()) alternatives.push_back(std::move(terms));
  }
  return alternatives;
}

std::vector<Normaliser::Wanted> Normaliser::parse_table(Driver driver, bool infiniband) {
  std::vector<Wanted> table;
  std::vector<std::string_view> done;
  for (const auto& named : signal_table()) {
    if (std::find(done.begin(), done.end(), named.series) != done.end()) continue;
    done.push_back(named.series);
    const SignalRow* const row = row_for(named.series, driver);
    if (row == nullptr) continue;
    const bool by_priority = row->cell.find('#') != std::string_view::npos;
    for (int priority = 0; priority < (by_priority ? 8 : 1); ++priority) {
      Wanted wanted{row->series, by_priority ? std::to_string(priority) : "", {}};
      wanted.alternatives = parse_cell(row->cell, wanted.priority, infiniband);
      table.push_back(std::move(wanted));
    }
  }
  return table;
}

Normaliser::Normaliser(Driver driver, bool infiniband) {
  static std::map<std::pair<Driver, bool>, std::vector<Wanted>> tables;
  auto table = tables.find({driver, infiniband});
  if (table == tables.end()) table = tables.emplace(std::pair{driver, infiniband}, parse_table(driver, infiniband)).first;
  lines_.reserve(table->second.size());
  for (const auto& wanted : table->second) lines_.push_back({.wanted = &wanted});
}

void Normaliser::choose(Line& line, const CounterTracker& counters) {
  const auto& alternatives = line.wanted->alternatives;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    std::vector<std::string> members;
    double sum = 0;
    for (const auto& term : alternatives[i]) {
      const Counter* const counter = counters.find(term.set, term.name);
      if (counter == nullptr || !counter->exists()) continue;
      members.push_back(term.name);
      sum += value_of(*counter, alternatives[i].size() > 1) * term.scale;
    }
    if (members.empty()) continue;
    if (line.chosen && (*line.chosen != i || line.members != members)) line.offset = line.last - sum;
    line.chosen = i;
    line.members = std::move(members);
    return;
  }
}

std::vector<Signal> Normaliser::of(CounterSet set, const CounterTracker& counters) {
  std::vector<Signal> signals;
  if (shape_ != counters.shape())
    for (auto& line : lines_) choose(line, counters);
  shape_ = counters.shape();
  for (auto& line : lines_) {
    if (!line.chosen) continue;
    const auto& terms = line.wanted->alternatives[*line.chosen];
    if (terms.front().set != set) continue;
    double sum = 0;
    bool whole = true;
    for (const auto& term : terms) {
      if (std::find(line.members.begin(), line.members.end(), term.name) == line.members.end()) continue;
      const Counter* const counter = counters.find(term.set, term.name);
      if (counter == nullptr || !counter->present) {
        whole = false;
        break;
      }
      sum += value_of(*counter, terms.size() > 1) * term.scale;
    }
    if (!whole) continue;
    line.last = sum + line.offset;
    signals.push_back({line.wanted->series, line.wanted->priority, line.last});
  }
  return signals;
}

bool Normaliser::has(std::string_view series) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) { return line.wanted->series == series && line.chosen; });
}

}  // namespace rdmend::sources
