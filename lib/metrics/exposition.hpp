// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "store/store.hpp"

namespace rdmend::metrics {

// A summary has no quantiles here: its series in the store are NAME_sum and NAME_count.
enum class FamilyType { counter, gauge, summary, untyped };

// One row a metric family that rdmend exports: the HELP and TYPE of /metrics and the reference page are made from it.
struct FamilyRow {
  std::string_view name;
  FamilyType type;
  std::string_view labels;  // "device, port"
  std::string_view help;
  bool per_qp = false;  // exported only with metrics.per_qp
};
// Families that belong together, in the order that they are exported in: what max_series drops is at the end.
struct FamilySection {
  std::string_view title;
  std::vector<FamilyRow> rows;
};
std::span<const FamilySection> family_sections();
// The rows of every section, in that order.
const std::vector<FamilyRow>& families();

struct Options {
  bool per_qp = false;
  std::size_t max_series = 50'000;
  bool node_exporter_names = false;
};

struct Exposition {
  std::string text;         // Prometheus text format 0.0.4
  std::size_t series = 0;
  std::size_t dropped = 0;  // beyond max_series
};

// The latest value of every series of a known family in the store, as Prometheus' text format. Series that the rules
// made (records, ALERTS) are not exported. It adds rdmend_metrics_series and rdmend_metrics_dropped_series itself. From one
// answer to the next it keeps the labels: most series are the same.
class Page {
 public:
  Page();
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  Exposition expose(const store::Store& store, Timestamp now, const Options& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::metrics
