// SPDX-License-Identifier: Apache-2.0
#include "metrics/exposition.hpp"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

#include "metrics/node_exporter.hpp"

namespace rdmend::metrics {
namespace {

// What Prometheus itself would look back for: a value that stopped being read has gone stale long before.
constexpr milliseconds kLookBack = std::chrono::minutes{5};

// These two are about the answer itself: never from the store.
constexpr std::string_view kSeries = "rdmend_metrics_series";
constexpr std::string_view kDropped = "rdmend_metrics_dropped_series";

enum class Part { value, sum, count };

// Where a series name belongs: a family's index in the table, and for a summary which half of it.
struct Place {
  std::size_t row = 0;
  Part part = Part::value;
};

const std::unordered_map<std::string, Place>& places() {
  static const std::unordered_map<std::string, Place> kPlaces = [] {
    std::unordered_map<std::string, Place> result;
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

prometheus::MetricType serializer_type(FamilyType type) {
  switch (type) {
    case FamilyType::counter: return prometheus::MetricType::Counter;
    case FamilyType::gauge: return prometheus::MetricType::Gauge;
    case FamilyType::summary: return prometheus::MetricType::Summary;
    case FamilyType::untyped: break;
  }
  return prometheus::MetricType::Untyped;
}

void put(prometheus::ClientMetric& metric, FamilyType type, Part part, double value) {
  switch (type) {
    case FamilyType::counter: metric.counter.value = value; break;
    case FamilyType::gauge: metric.gauge.value = value; break;
    case FamilyType::untyped: metric.untyped.value = value; break;
    case FamilyType::summary:
      if (part == Part::sum) metric.summary.sample_sum = value;
      if (part == Part::count && value >= 0) metric.summary.sample_count = static_cast<std::uint64_t>(value);
      break;
  }
}

// The length of the UTF-8 sequence that `text` begins with, 0 when it is none (RFC 3629: no surrogates, no overlong forms).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto tail = [&](std::size_t at) { return (byte(at) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool too_high = first == 0xf4 && second > 0x8f;
    return tail(1) && tail(2) && tail(3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

// A process may call itself anything, and one invalid byte makes Prometheus refuse the whole answer: it is shown as \xNN.
std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

// Collects the families in the table's order, so that what is beyond max_series is always the same, least needed part.
class Collector {
 public:
  explicit Collector(const Options& options)
      : options_(options), found_(families().size()), twins_(options.node_exporter_names ? node_exporter_rows().size() : 0) {}

  void add(const Labels& labels, double value) {
    if (options_.node_exporter_names) add_twin(labels, value);
    const auto place = places().find(std::string{labels.metric()});
    if (place == places().end()) return;
    const FamilyRow& row = families()[place->second.row];
    if (row.per_qp && !options_.per_qp) return;
    Labels identity = labels;
    identity.erase(kMetricName);
    put(metric(place->second.row, identity), row.type, place->second.part, value);
  }

  Exposition finish() {
    Exposition result;
    // The two series about this answer stand in it whatever the limit is, and are counted.
    constexpr std::size_t kOwn = 2;
    std::size_t room = options_.max_series > kOwn ? options_.max_series - kOwn : 0;
    std::size_t wanted = 0;
    std::vector<prometheus::MetricFamily> kept;
    const auto keep = [&](const FamilyRow& family, std::vector<prometheus::ClientMetric>& metrics) {
      wanted += metrics.size();
      if (metrics.size() > room) metrics.erase(metrics.begin() + static_cast<std::ptrdiff_t>(room), metrics.end());
      room -= metrics.size();
      result.series += metrics.size();
      if (!metrics.empty()) kept.push_back({std::string{family.name}, std::string{family.help}, serializer_type(family.type), std::move(metrics)});
    };
    for (std::size_t row = 0; row < found_.size(); ++row) keep(families()[row], found_[row]);
    for (std::size_t row = 0; row < twins_.size(); ++row) keep(node_exporter_rows()[row].family, twins_[row]);
    result.dropped = wanted - result.series;
    result.series += kOwn;
    append_own(kept, kSeries, result.series);
    append_own(kept, kDropped, result.dropped);
    std::ostringstream text;
    prometheus::TextSerializer{}.Serialize(text, kept);
    result.text = std::move(text).str();
    return result;
  }

 private:
  prometheus::ClientMetric& metric(std::size_t row, const Labels& identity) {
    // Only a summary has two series of one identity, so only there it is looked for.
    if (families()[row].type == FamilyType::summary) {
      const auto [known, fresh] = summaries_[row].try_emplace(identity, found_[row].size());
      if (!fresh) return found_[row][known->second];
    }
    prometheus::ClientMetric& made = found_[row].emplace_back();
    for (const auto& [name, value] : identity) made.label.push_back({name, valid_utf8(value)});
    return made;
  }

  void add_twin(const Labels& labels, double value) {
    const auto index = node_exporter_row(labels);
    if (!index) return;
    const auto& row = node_exporter_rows()[*index];
    auto& made = twins_[*index].emplace_back();
    for (const auto& [name, text] : node_exporter_labels(row, labels)) made.label.push_back({name, valid_utf8(text)});
    put(made, row.family.type, Part::value, value * row.scale);
  }

  static void append_own(std::vector<prometheus::MetricFamily>& kept, std::string_view name, std::size_t value) {
    prometheus::ClientMetric metric;
    metric.gauge.value = static_cast<double>(value);
    const auto row = std::ranges::find(families(), name, &FamilyRow::name);
    kept.push_back({std::string{name}, std::string{row->help}, prometheus::MetricType::Gauge, {std::move(metric)}});
  }

  Options options_;
  std::vector<std::vector<prometheus::ClientMetric>> found_;  // by row
  std::vector<std::vector<prometheus::ClientMetric>> twins_;  // under node_exporter's names, by its row
  std::map<std::size_t, std::map<Labels, std::size_t>> summaries_;
};

}  // namespace

Exposition expose(const store::Store& store, Timestamp now, const Options& options) {
  Collector collector{options};
  store.latest(now, kLookBack, [&](const Labels& labels, const store::Point& last) { collector.add(labels, last.value); });
  return collector.finish();
}

}  // namespace rdmend::metrics
