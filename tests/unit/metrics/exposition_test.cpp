// SPDX-License-Identifier: Apache-2.0
#include "metrics/exposition.hpp"

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

using namespace rdmend;
using metrics::FamilyRow;
using metrics::FamilyType;

namespace {

constexpr Timestamp kNow{std::chrono::hours{480'000}};

struct Fixture {
  store::Store store{store::Limits{}};
  metrics::Page page;
  metrics::Exposition expose(const metrics::Options& options) { return page.expose(store, kNow, options); }
  void add(const Labels& labels, double value) { store.append(labels, kNow, value); }
};

Labels series(std::string_view name, std::vector<Labels::Pair> labels = {}) {
  labels.emplace_back(kMetricName, name);
  return Labels{std::move(labels)};
}

// One or two series of every family, each with all its labels.
void add_example(store::Store& store) {
  for (const FamilyRow& row : metrics::families()) {
    std::vector<Labels::Pair> labels;
    for (const std::string_view name : split(row.labels, ','))
      if (!trim(name).empty()) labels.emplace_back(trim(name), "value of \"" + std::string{trim(name)} + "\" \\ \n");
    if (row.type == FamilyType::summary) {
      store.append(series(std::string{row.name} + "_sum", labels), kNow, 1.5);
      store.append(series(std::string{row.name} + "_count", labels), kNow, 3);
      continue;
    }
    store.append(series(row.name, labels), kNow, 17);
    if (labels.empty()) continue;
    labels.front().second = "another";
    store.append(series(row.name, labels), kNow, 0.001);
  }
}

struct Ended {
  int status = -1;
  std::string output;
};

// `promtool check metrics`, fed with `text`.
Ended promtool(const std::string& text) {
  std::string path = "/tmp/rdmend-metrics-XXXXXX";
  const UniqueFd file{::mkstemp(path.data())};
  REQUIRE(file);
  REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  std::FILE* const pipe = ::popen(("promtool check metrics < " + path + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended ended;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.output.append(buffer, got);
  ended.status = ::pclose(pipe);
  ::unlink(path.c_str());
  return ended;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "every family of the table pleases promtool") {
  add_example(store);
  const auto exposition = expose({.per_qp = true});
  for (const FamilyRow& row : metrics::families()) {
    INFO(row.name);
    CHECK(exposition.text.find("# HELP " + std::string{row.name} + " ") != std::string::npos);
  }
  const Ended checked = promtool(exposition.text);
  CHECK(checked.output.empty());
  CHECK(checked.status == 0);
}

TEST_CASE("promtool would not be silent about a bad name") {
  const Ended checked = promtool("# HELP rdma_counter_x x\n# TYPE rdma_counter_x gauge\nrdma_counter_x 1\n");
  CHECK(checked.output == "rdma_counter_x metric name should not include type 'counter'\n");
  CHECK(WEXITSTATUS(checked.status) == 3);
}

TEST_CASE("each family has one row, a sentence and a name that fits its type") {
  std::set<std::string_view> names;
  for (const FamilyRow& row : metrics::families()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK((row.name.starts_with("rdma_") || row.name.starts_with("rdmend_")));
    CHECK(row.name.ends_with("_total") == (row.type == FamilyType::counter));
    CHECK(row.help.ends_with("."));
  }
}

TEST_CASE_METHOD(Fixture, "the whole text, as Prometheus reads it") {
  add(series("rdma_packets_sent_total", {{"device", "rxe2"}, {"port", "1"}}), 9007199254740991);
  add(series("rdma_packets_sent_total", {{"device", "rxe1"}, {"port", "1"}}), 0);
  add(series("rdma_raw", {{"device", "rxe1"}, {"name", "a \"b\" \\"}, {"source", "hw_counters"}}), -0.25);
  add(series("rdmend_remedy_seconds_sum", {{"action", "advise"}}), 2.5);
  add(series("rdmend_remedy_seconds_count", {{"action", "advise"}}), 4);
  add(series("ALERTS", {{"alertname", "X"}}), 1);
  add(series("job:rdma_something:rate1m"), 1);
  const auto exposition = expose({});
  CHECK(exposition.series == 6);
  CHECK(exposition.dropped == 0);
  CHECK(exposition.text == R"(# HELP rdmend_remedy_seconds How long remedies took from their start to their verdict.
# TYPE rdmend_remedy_seconds summary
rdmend_remedy_seconds_count{action="advise"} 4
rdmend_remedy_seconds_sum{action="advise"} 2.5
# HELP rdma_packets_sent_total Packets sent.
# TYPE rdma_packets_sent_total counter
rdma_packets_sent_total{device="rxe1",port="1"} 0
rdma_packets_sent_total{device="rxe2",port="1"} 9007199254740991
# HELP rdma_raw A value that can fall, as the driver names it; source says where it was read.
# TYPE rdma_raw gauge
rdma_raw{device="rxe1",name="a \"b\" \\",source="hw_counters"} -0.25
# HELP rdmend_metrics_series Series in this answer.
# TYPE rdmend_metrics_series gauge
rdmend_metrics_series 6
# HELP rdmend_metrics_dropped_series Series left out of this answer because of metrics.max_series.
# TYPE rdmend_metrics_dropped_series gauge
rdmend_metrics_dropped_series 0
)");
}

TEST_CASE_METHOD(Fixture, "what went stale, or is too old, is not exported") {
  const Labels stale = series("rdma_port_state", {{"device", "gone"}});
  store.append(stale, kNow - seconds{2}, 4);
  store.append(stale, kNow - seconds{1}, stale_marker());
  store.append(series("rdma_port_state", {{"device", "old"}}), kNow - std::chrono::minutes{6}, 4);
  store.append(series("rdma_port_state", {{"device", "here"}}), kNow - std::chrono::minutes{4}, 4);
  const auto exposition = expose({});
  CHECK(exposition.text.find("gone") == std::string::npos);
  CHECK(exposition.text.find("old") == std::string::npos);
  CHECK(exposition.text.find("rdma_port_state{device=\"here\"} 4\n") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "series of one queue pair need the option") {
  add(series("rdma_qp_info", {{"device", "rxe1"}, {"qpn", "17"}}), 1);
  CHECK(expose({}).text.find("rdma_qp_info") == std::string::npos);
  CHECK(expose({.per_qp = true}).text.find("rdma_qp_info{device=\"rxe1\",qpn=\"17\"} 1\n") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "beyond max_series the last families are dropped, and counted") {
  for (int index = 0; index < 10; ++index) {
    add(series("rdma_raw_total", {{"device", "rxe1"}, {"name", "counter" + std::to_string(index)}}), 1);
    add(series("rdma_port_state", {{"device", "rxe" + std::to_string(index)}}), 4);
  }
  const auto exposition = expose({.max_series = 14});
  CHECK(exposition.series == 14);
  CHECK(exposition.dropped == 8);
  CHECK(exposition.text.find("rdma_port_state{device=\"rxe9\"}") != std::string::npos);
  CHECK(exposition.text.find("name=\"counter1\"") != std::string::npos);
  CHECK(exposition.text.find("name=\"counter2\"") == std::string::npos);
  CHECK(exposition.text.find("rdmend_metrics_dropped_series 8\n") != std::string::npos);
  const Ended checked = promtool(exposition.text);
  CHECK(checked.output.empty());
}

TEST_CASE_METHOD(Fixture, "a limit of nothing still answers how much was dropped") {
  add_example(store);
  const auto exposition = expose({.max_series = 0});
  CHECK(exposition.series == 2);
  CHECK(exposition.dropped > 100);
}

TEST_CASE_METHOD(Fixture, "a name that is no UTF-8 does not spoil the answer") {
  add(series("rdma_qp_info", {{"comm", "\xff\xc0\xaf\xed\xa0\x80 caf\xc3\xa9"}}), 1);
  const auto exposition = expose({.per_qp = true});
  CHECK(exposition.text.find(R"(rdma_qp_info{comm="\\xff\\xc0\\xaf\\xed\\xa0\\x80 café"} 1)") != std::string::npos);
  CHECK(promtool(exposition.text).output.empty());
}

TEST_CASE_METHOD(Fixture, "values that are no number are said as Prometheus says them") {
  add(series("rdma_raw", {{"name", "a"}}), std::numeric_limits<double>::infinity());
  add(series("rdma_raw", {{"name", "b"}}), -std::numeric_limits<double>::infinity());
  add(series("rdma_raw", {{"name", "c"}}), std::numeric_limits<double>::quiet_NaN());
  const auto exposition = expose({});
  CHECK(exposition.text.find("rdma_raw{name=\"a\"} +Inf\n") != std::string::npos);
  CHECK(exposition.text.find("rdma_raw{name=\"b\"} -Inf\n") != std::string::npos);
  CHECK(exposition.text.find("rdma_raw{name=\"c\"} Nan\n") != std::string::npos);
  CHECK(promtool(exposition.text).output.empty());
}

// What a page says that has answered before is what a new one says.
TEST_CASE_METHOD(Fixture, "series that come and go between two answers") {
  const auto port = [](int index) { return series("rdma_port_state", {{"device", "rxe" + std::to_string(index)}}); };
  const auto raw = [](int index) { return series("rdma_raw_total", {{"device", "rxe1"}, {"name", "symbol_error" + std::to_string(index)}, {"source", "counters"}}); };
  const auto qp = series("rdma_qp_info", {{"qpn", "17"}});
  for (const int index : {1, 3, 5}) {
    add(port(index), 4);
    add(raw(index), index);
  }
  add(qp, 1);
  add(series("rdmend_remedy_seconds_sum", {{"action", "advise"}}), 2.5);
  add(series("rdmend_remedy_seconds_count", {{"action", "advise"}}), 4);
  const std::vector<std::function<void()>> changes{
      [] {},
      [&] { add(port(3), 1); },
      [&] { add(port(2), 2); },
      [&] { add(port(0), 3); },
      [&] { add(port(9), 4); },
      [&] { add(port(1), stale_marker()); },
      [&] { add(raw(5), stale_marker()); },
      [&] { add(raw(4), 7); },
      [&] { add(series("rdma_raw_total", {{"device", "rxe1"}, {"name", "symbol_error"}, {"source", "counters"}}), 7); },
      [&] { add(port(1), 1); },
      [&] { add(series("rdmend_remedy_seconds_sum", {{"action", "advise"}}), 3.5); },
      [&] { add(series("rdmend_remedy_seconds_count", {{"action", "recover_qp"}}), 1); },
      [&] { add(qp, stale_marker()); },
  };
  const metrics::Options all{.per_qp = true, .node_exporter_names = true};
  for (const auto& change : changes) {
    change();
    for (const auto& options : {all, metrics::Options{}, all, metrics::Options{.max_series = 6, .node_exporter_names = true}, all}) {
      const auto kept = expose(options);
      const auto made = metrics::Page{}.expose(store, kNow, options);
      CHECK(kept.text == made.text);
      CHECK(kept.series == made.series);
      CHECK(kept.dropped == made.dropped);
    }
  }
  CHECK(expose(all).text.find("rdma_port_state{device=\"rxe9\"} 4\n") != std::string::npos);
}
