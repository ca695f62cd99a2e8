// SPDX-License-Identifier: Apache-2.0
#include "metrics/unknown_series.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;

namespace {

std::string warnings(const std::string& rules) {
  Diagnostics diagnostics;
  const auto groups = rules::parse_rule_file("r.yaml", "groups:\n- name: g\n  rules:\n" + rules, diagnostics);
  REQUIRE_FALSE(diagnostics.failed());
  metrics::SeriesNames names;
  names.add_records(groups);
  names.warn_of_unknown(groups, diagnostics);
  CHECK_FALSE(diagnostics.failed());
  return diagnostics.text();
}

}  // namespace

TEST_CASE("what rdmend exports, what the rules record and the alerts' own series are known") {
  CHECK(warnings(R"(  - {record: naks, expr: 'rate(rdma_rnr_naks_sent_total[1m])'}
  - {alert: A, expr: 'naks > 1 and on() ALERTS{alertname="B"} and on() ALERTS_FOR_STATE > 0'}
  - {alert: B, expr: '{__name__=~"rdma_(rnr|sequence)_naks.*"} > 1'}
  - {alert: C, expr: 'vector(1) > {__name__!="x", device="y"}'}
)")
            .empty());
}

TEST_CASE("G5: a name that nothing has can never fire: it is told, with the one that is near") {
  CHECK(warnings(R"(  - {alert: A, expr: 'increase(rdma_rnr_nak_sent_total[1m]) > 100'}
  - {record: b, expr: node_infiniband_symbol_error_counter_total}
  - {alert: C, expr: 'absent({__name__=~"node_infiniband_.*"})'}
)") == "r.yaml:4:5: warning: the rule 'A' reads 'rdma_rnr_nak_sent_total', which rdmend does not have; did "
       "you mean "
       "'rdma_rnr_naks_sent_total'?\n"
       "r.yaml:5:5: warning: the rule 'b' reads 'node_infiniband_symbol_error_counter_total', which rdmend "
       "does not have; its series "
       "are in config/reference/metrics.md\n"
       "r.yaml:6:5: warning: the rule 'C' reads a series like 'node_infiniband_.*', which rdmend does not "
       "have; its series are in "
       "config/reference/metrics.md\n");
}
