// SPDX-License-Identifier: Apache-2.0
#include "metrics/exposition.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "metrics/node_exporter.hpp"
#include "metrics/rows.hpp"

namespace rdmend::metrics {
namespace {

// What Prometheus itself would look back for: a value that stopped being read has gone stale long before.
constexpr milliseconds kLookBack = std::chrono::minutes{5};

// These two are about the answer itself: never from the store.
constexpr std::string_view kSeries = "rdmend_metrics_series";
constexpr std::string_view kDropped = "rdmend_metrics_dropped_series";

// Where a series name belongs: a family's index in the table, and for a summary which half of it.
struct Place {
  std::size_t row = 0;
  Part part = Part::value;
};

const std::map<std::string, Place, std::less<>>& places() {
  static const std::map<std::string, Place, std::less<>> kPlaces = [] {
    std::map<std::string, Place, std::less<>> result;
    for (std::size_t row = 0; row < families().size(); ++row) {
      const std::string name{families()[row].name};
      if (families()[row].type == FamilyType::summary) {
        result[name + "_sum"] = {row, Part::sum};
        result[name + "_count"] = {row, Part::count};
      } else if (name != kSeries && name != kDropped) {
        result[name] = {row, Part::value};
      }
    }
    return result;
  }();
  return kPlaces;
}

const FamilyRow& row_of(std::string_view name) { return *std::ranges::find(families(), name, &FamilyRow::name); }

// The families are lent to the serializer.
std::string text_of(std::span<Rows* const> rows) {
  std::vector<prometheus::MetricFamily> lent;
  for (auto* one : rows) lent.push_back(std::move(one->family()));
  std::ostringstream text;
  prometheus::TextSerializer{}.Serialize(text, lent);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i]->family() = std::move(lent[i]);
  return std::move(text).str();
}

}  // namespace

// The families in the table's order, so that what is beyond max_series is always the same, least needed part.
struct Page::State {
  std::vector<Rows> rows;
  std::vector<Rows> twins;  // under node_exporter's names
  Rows own_series{row_of(kSeries)}, own_dropped{row_of(kDropped)};
  Options options;
  std::string metric;  // of the last series
  const Place* place = nullptr;

  State() {
    for (const auto& row : families()) rows.emplace_back(row);
    for (const auto& row : node_exporter_rows()) twins.emplace_back(row.family);
  }
  void add(const Labels& labels, double value);
  void add_twin(const Labels& labels, double value);
  Exposition finish();
};

void Page::State::add(const Labels& labels, double value) {
  if (options.node_exporter_names) add_twin(labels, value);
  // The store gives one metric's series one after the other.
  if (labels.metric() != metric) {
    metric = labels.metric();
    const auto known = places().find(metric);
    place = known == places().end() ? nullptr : &known->second;
  }
  if (place == nullptr || (families()[place->row].per_qp && !options.per_qp)) return;
  auto identity = labels;
  if (place->part != Part::value) identity.erase(kMetricName);
  auto& into = rows[place->row];
  auto* known = into.next(identity);
  into.put(known != nullptr ? *known : into.make(identity, identity), place->part, value);
}

void Page::State::add_twin(const Labels& labels, double value) {
  const auto index = node_exporter_row(labels);
  if (!index) return;
  const auto& row = node_exporter_rows()[*index];
  auto& into = twins[*index];
  auto* known = into.next(labels);
  into.put(known != nullptr ? *known : into.make(labels, node_exporter_labels(row, labels)), Part::value, value * row.scale);
}

Exposition Page::State::finish() {
  Exposition result;
  // The two series about this answer stand in it whatever the limit is, and are counted.
  constexpr std::size_t kOwn = 2;
  std::size_t room = options.max_series > kOwn ? options.max_series - kOwn : 0;
  std::vector<Rows*> shown;
  for (auto* table : {&rows, &twins})
    for (auto& family : *table) {
      const auto wanted = family.size();
      family.cut(std::min(wanted, room));
      room -= family.size();
      result.series += family.size();
      result.dropped += wanted - family.size();
      if (family.size() > 0) shown.push_back(&family);
    }
  result.series += kOwn;
  own_series.put(own_series.make({}, {}), Part::value, static_cast<double>(result.series));
  own_dropped.put(own_dropped.make({}, {}), Part::value, static_cast<double>(result.dropped));
  shown.insert(shown.end(), {&own_series, &own_dropped});
  result.text = text_of(shown);
  return result;
}

Page::Page() : state_(std::make_unique<State>()) {}
Page::~Page() = default;

Exposition Page::expose(const store::Store& store, Timestamp now, const Options& options) {
  auto& state = *state_;
  state.options = options;
  for (auto* table : {&state.rows, &state.twins})
    for (auto& family : *table) family.rewind();
  for (auto* own : {&state.own_series, &state.own_dropped}) own->cut(0);
  store.latest(now, kLookBack, [&](const Labels& labels, const store::Point& last) { state.add(labels, last.value); });
  return state.finish();
}

}  // namespace rdmend::metrics
