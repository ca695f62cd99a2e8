// SPDX-License-Identifier: Apache-2.0
// The judge of our PromQL: random series, random queries, and the real Prometheus beside us. Equal, or the test fails.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "differential/answer.hpp"
#include "differential/generate.hpp"
#include "differential/prometheus.hpp"

namespace rdmend::differential {
namespace {

struct Options {
  std::uint64_t seed = 0;
  std::size_t cases = 4000;
  std::optional<std::size_t> only;         // this case alone, in full
  std::optional<std::string> expression;   // a query of one's own, against the seed's series
  double at = 0;
};

struct Count {
  std::size_t cases = 0;
  std::size_t filled = 0;  // with a result that is neither empty nor an error
};

struct Tally {
  std::map<std::string, Count> items;
  Count all;
  std::size_t failed = 0;   // with an error, from both
  std::size_t different = 0;
  std::size_t unanswered = 0;

  void add(const Case& query, const Answer& theirs) {
    const auto one = [&](const std::string& item) {
      ++items[item].cases;
      if (!theirs.empty()) ++items[item].filled;
    };
    for (const std::string& item : query.used) one(item);
    one(std::string{"result "} + kind_name(theirs.kind));
    ++all.cases;
    if (!theirs.empty()) ++all.filled;
    if (theirs.failed()) ++failed;
  }
};

Case case_of(const Options& options, std::size_t index) {
  Rng rng{Rng{options.seed}.next() + index};
  rng.next();
  return make_case(rng);
}

bool names(const std::string& expression, std::string_view metric) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = expression.find(metric); at != std::string::npos; at = expression.find(metric, at + 1)) {
    const auto end = at + metric.size();
    if ((at == 0 || !inside(expression[at - 1])) && (end == expression.size() || !inside(expression[end]))) return true;
  }
  return false;
}

void print_series(const Case& query, const std::vector<Series>& series) {
  constexpr std::ptrdiff_t kMostPoints = 8;
  for (const Series& one : series) {
    if (!names(query.expression, one.labels.metric())) continue;
    const auto end = std::ranges::upper_bound(one.points, query.end, {}, &store::Point::at);
    const auto begin = end - std::min(kMostPoints, end - one.points.begin());
    fmt::print("    {} ...", one.labels.text());
    for (auto point = begin; point != end; ++point) fmt::print(" {}@{}", point->value, point->at.time_since_epoch().count());
    fmt::print("\n");
  }
}

void print_case(const Options& options, std::size_t index, const Case& query, const Answer& theirs, const Answer& ours, const std::string& what) {
  fmt::print("{} {}: {}\n  expression: {}\n", what.empty() ? "CASE" : "DIFFERENCE in case", index, what, query.expression);
  if (query.range)
    fmt::print("  from {} to {} step {} ms\n", query.start.time_since_epoch().count(), query.end.time_since_epoch().count(), query.step.count());
  else
    fmt::print("  at {} ms\n", query.start.time_since_epoch().count());
  fmt::print("  theirs: {}\n  ours: {}\n", describe(theirs), describe(ours));
  if (!options.expression) fmt::print("  again: differential --seed {} --case {}\n", options.seed, index);
}

void judge(const Options& options, std::size_t index, const Case& query, Prometheus& prometheus, const Ours& ours,
           const std::vector<Series>& series, Tally& tally) {
  constexpr std::size_t kMostPrinted = 25;
  const auto theirs = prometheus.ask(query);
  if (!theirs) {
    ++tally.unanswered;
    fmt::print("NO ANSWER in case {}: {}\n  expression: {}\n", index, theirs.error().message, query.expression);
    return;
  }
  tally.add(query, *theirs);
  const Answer answer = ours.ask(query);
  const std::string what = difference(*theirs, answer, query.ordered);
  const bool alone = options.only || options.expression;
  if (what.empty() && !alone) return;
  if (!what.empty()) ++tally.different;
  if (tally.different > kMostPrinted) return;
  print_case(options, index, query, *theirs, answer, what);
  print_series(query, series);
}

// Every row of the grammar must have been judged, on results that say something (an error item apart).
bool lacks(const Tally& tally, const std::string& item) {
  const auto found = tally.items.find(item);
  return found == tally.items.end() || (found->second.filled == 0 && !item.ends_with(" error"));
}

void print_tally(const Tally& tally) {
  fmt::print("{:40} {:>7} {:>7}\n", "item", "cases", "filled");
  for (const std::string& item : items()) {
    const auto found = tally.items.find(item);
    const Count count = found == tally.items.end() ? Count{} : found->second;
    fmt::print("{:40} {:>7} {:>7}{}\n", item, count.cases, count.filled, lacks(tally, item) ? "  MISSING" : "");
  }
}

int judge_all(const Options& options, Prometheus& prometheus, const Ours& ours, const std::vector<Series>& series) {
  Tally tally;
  const auto all_items = items();
  const auto missing = [&] { return std::ranges::any_of(all_items, [&](const std::string& item) { return lacks(tally, item); }); };
  // A rare item may take longer to come by; a test that fails one time in a thousand for that would be ignored.
  for (std::size_t index = 0; index < options.cases || (index < 2 * options.cases && missing()); ++index)
    judge(options, index, case_of(options, index), prometheus, ours, series, tally);
  print_tally(tally);
  const std::size_t share = tally.all.cases == 0 ? 0 : 100 * tally.all.filled / tally.all.cases;
  fmt::print("seed {}: {} cases, {} % with a result, {} errors of both, {} without an answer, {} DIFFERENT\n", options.seed, tally.all.cases, share,
             tally.failed, tally.unanswered, tally.different);
  if (missing()) fmt::print("an item of the subset had no case with a result\n");
  if (share < 60) fmt::print("too few cases have a result\n");
  return tally.different == 0 && tally.unanswered == 0 && !missing() && share >= 60 ? 0 : 1;
}

int judge_one(const Options& options, Prometheus& prometheus, const Ours& ours, const std::vector<Series>& series) {
  Case query;
  if (options.expression) {
    query.expression = *options.expression;
    query.start = query.end = Timestamp{milliseconds{std::llround(options.at * 1000)}};
  } else {
    query = case_of(options, *options.only);
  }
  Tally tally;
  judge(options, options.only.value_or(0), query, prometheus, ours, series, tally);
  return tally.different == 0 && tally.unanswered == 0 ? 0 : 1;
}

int run(const Options& options) {
  fmt::print("differential --seed {} --cases {}\n", options.seed, options.cases);
  Rng rng{options.seed};
  const std::vector<Series> series = make_series(rng);
  const auto prometheus = Prometheus::start(series);
  if (!prometheus) {
    fmt::print("{}\n", prometheus.error().message);
    return 1;
  }
  const Ours ours{series};
  return options.only || options.expression ? judge_one(options, **prometheus, ours, series) : judge_all(options, **prometheus, ours, series);
}

}  // namespace
}  // namespace rdmend::differential

int main(int argc, char** argv) {
  rdmend::differential::Options options;
  options.seed = std::random_device{}();
  CLI::App app{"Compares rdmend's answers to random PromQL queries with Prometheus'."};
  app.add_option("--seed", options.seed, "the series and the cases are made from it; random without it");
  app.add_option("--cases", options.cases, "how many");
  app.add_option("--case", options.only, "judge this case of the seed alone, and show it");
  auto* const expression = app.add_option("--expression", options.expression, "judge this expression against the seed's series");
  app.add_option("--at", options.at, "its time, in seconds since the epoch")->needs(expression);
  CLI11_PARSE(app, argc, argv);
  return rdmend::differential::run(options);
}
