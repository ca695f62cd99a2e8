// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "store/store.hpp"

namespace rdmend::metrics {

enum class FamilyType { counter, gauge, untyped };

// One row a metric family that rdmend exports: the HELP and TYPE of /metrics and the reference pages are made from it.
struct FamilyRow {
  std::string_view name;
  FamilyType type;
  std::string_view labels;  // "device, port"
  std::string_view help;
  bool per_qp = false;  // exported only with metrics.per_qp
};
const std::vector<FamilyRow>& families();

struct Options {
  bool per_qp = false;
  std::size_t max_series = 50'000;
};

struct Exposition {
  std::string text;         // Prometheus text format 0.0.4
  std::size_t series = 0;
  std::size_t dropped = 0;  // beyond max_series
};

// The latest value of every series of a known family in the store, as Prometheus' text format. Series that the rules
// made (records, ALERTS) are not exported.
Exposition expose(const store::Store& store, Timestamp now, const Options& options);

}  // namespace rdmend::metrics
