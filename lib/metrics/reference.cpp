// SPDX-License-Identifier: Apache-2.0
#include "metrics/reference.hpp"

#include "metrics/exposition.hpp"
#include "metrics/node_exporter.hpp"

namespace rdmend::metrics {
namespace {

const char* type_name(FamilyType type) {
  switch (type) {
    case FamilyType::counter: return "counter";
    case FamilyType::gauge: return "gauge";
    case FamilyType::summary: return "summary";
    case FamilyType::untyped: break;
  }
  return "untyped";
}

void append_row(std::string& page, const FamilyRow& row) {
  page += "| `";
  page += row.name;
  page += "` | ";
  page += type_name(row.type);
  page += " | ";
  page += row.labels;
  page += row.labels.empty() ? "| " : " | ";
  page += row.help;
  if (row.per_qp) page += " Only with `metrics.per_qp: true`; the rules read it always.";
  page += " |\n";
}

constexpr const char* kIntroduction = R"(# Metrics

<!-- Made from the table in lib/metrics/families.cpp; RDMEND_UPDATE_REFERENCE=1 makes the test rewrite it. -->

What `/metrics` exports, and what rules can read. Counters end in `_total` and only rise (a reset apart); units are base
units. A series exists from the start if its device has the counter at all, and ends (goes stale) when it can no longer be
read. A counter that belongs to the whole device has no `port`. When there are more than `metrics.max_series` series, the
last sections of this page are cut first, and `rdmend_metrics_dropped_series` tells how many.
)";

constexpr const char* kNodeExporter = R"(
## Under node_exporter's names

With `metrics.node_exporter_names: true`, and in /metrics only: what node_exporter's infiniband collector exports, with its labels, units and
values, for dashboards and rules that were made for it. They come from the same readings as ours, so that they cost no more; a
device or a file that cannot be read hides no other one's. Not there: node_exporter's `legacy` families (kernels before 4.5).

| family | type | labels | what it is |
|---|---|---|---|
)";

}  // namespace

std::string reference_page() {
  std::string page = kIntroduction;
  for (const FamilySection& section : family_sections()) {
    page += "\n## ";
    page += section.title;
    page += "\n\n| family | type | labels | what it is |\n|---|---|---|---|\n";
    for (const FamilyRow& row : section.rows) append_row(page, row);
  }
  page += kNodeExporter;
  for (const auto& row : node_exporter_rows()) append_row(page, row.family);
  return page;
}

}  // namespace rdmend::metrics
