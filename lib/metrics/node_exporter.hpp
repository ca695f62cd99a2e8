// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "metrics/exposition.hpp"
#include "model/labels.hpp"

namespace rdmend::metrics {

// A family of node_exporter's infiniband collector, and the series of ours that its series are made from: one of that name, or
// where `counter` is given the raw counter of that name in counters/. Its labels are device and port, but for the info family's.
struct NodeExporterRow {
  FamilyRow family;
  std::string_view series, counter;
  double scale = 1;
};
std::span<const NodeExporterRow> node_exporter_rows();

// The row that `labels` go to, if any: its index.
std::optional<std::size_t> node_exporter_row(const Labels& labels);
// The labels that node_exporter would give that series.
Labels node_exporter_labels(const NodeExporterRow& row, const Labels& labels);

}  // namespace rdmend::metrics
