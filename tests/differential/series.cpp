// SPDX-License-Identifier: Apache-2.0
#include "differential/series.hpp"

#include <array>
#include <limits>
#include <map>

namespace rdmend::differential {
namespace {

using Kind = Metric::Kind;
constexpr milliseconds kInterval{15'000};

// An odd multiple of 125 ms below `bound`.
milliseconds phase(Rng& rng, milliseconds bound) {
  return milliseconds{125 + 250 * rng.between(0, bound.count() / 250 - 1)};
}

// Every combination of the labels' values.
std::vector<Labels> combinations(const Metric& metric) {
  std::vector<Labels> all{Labels{{std::string{kMetricName}, metric.name}}};
  for (const std::string& label : metric.labels) {
    std::vector<Labels> longer;
    for (const Labels& labels : all)
      for (const std::string& value : label_values(label)) {
        longer.push_back(labels);
        longer.back().set(label, value);
      }
    all = std::move(longer);
  }
  return all;
}

using Points = std::vector<store::Point>;

Points counter(Rng& rng) {
  Points points;
  double value = static_cast<double>(rng.below(100'000));
  const std::size_t slope = 1 + rng.below(400);
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += kInterval) {
    points.push_back({at, value});
    if (rng.chance(70)) value += static_cast<double>(rng.below(slope)) / 4;
    if (rng.chance(1)) value = static_cast<double>(rng.below(20));
  }
  return points;
}

// Begins and perhaps ends in the middle: from 0 without a gap, or from far above with any gaps and intervals.
Points ragged_counter(Rng& rng) {
  Points points;
  const bool from_zero = rng.chance(50);
  double value = from_zero ? 0 : 1e7 + static_cast<double>(rng.below(1'000'000));
  const Timestamp begin = kDataBegin + std::chrono::minutes{rng.between(60, 170)};
  const Timestamp end = rng.chance(50) ? kDataEnd : begin + std::chrono::minutes{rng.between(5, 60)};
  for (Timestamp at = begin + phase(rng, kInterval); at < end && at < kDataEnd;) {
    points.push_back({at, value});
    value += static_cast<double>(rng.below(200)) / 4;
    at += from_zero ? kInterval : milliseconds{250 * rng.between(4, 160)};
    if (!from_zero && rng.chance(2)) at += std::chrono::minutes{rng.between(2, 12)};
  }
  return points;
}

// A walk on multiples of 1/64, shifted by `index`/1024 so that no other series ever meets it.
Points gauge(Rng& rng, std::size_t index) {
  Points points;
  const double sign = rng.chance(25) ? -1 : 1;
  auto steps = rng.between(64 * 50, 64 * 500);
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += kInterval + milliseconds{250 * rng.between(-20, 20)}) {
    points.push_back({at, sign * (static_cast<double>(steps) / 64 + static_cast<double>(index) / 1024)});
    steps = std::max<std::int64_t>(64, steps + rng.between(-500, 500));
  }
  return points;
}

Points state(Rng& rng) {
  Points points;
  double value = 4;
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += kInterval) {
    if (rng.chance(8)) value = static_cast<double>(rng.between(1, 4));
    points.push_back({at, value});
  }
  return points;
}

Points odd(Rng& rng) {
  static const std::vector<double> kOdd{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(), 0.0, -0.0};
  Points points;
  const unsigned share = rng.chance(50) ? 3 : 30;
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += milliseconds{250 * rng.between(20, 200)})
    points.push_back({at, rng.chance(share) ? rng.pick(kOdd) : static_cast<double>(rng.between(-4000, 4000)) / 8});
  return points;
}

// Gaps around the 5 minutes of look-back.
Points sparse(Rng& rng) {
  Points points;
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd;
       at += rng.chance(40) ? std::chrono::minutes{rng.between(3, 9)} : milliseconds{60'000})
    points.push_back({at, static_cast<double>(rng.between(1, 800)) / 8});
  return points;
}

// From tiny to huge, always positive: nothing cancels.
Points wide(Rng& rng) {
  Points points;
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += kInterval) {
    double value = static_cast<double>(1 + rng.below(1'000'000)) / 7;
    for (auto power = rng.between(-9, 12); power != 0; power += power < 0 ? 1 : -1) value = power < 0 ? value / 10 : value * 10;
    points.push_back({at, value});
  }
  return points;
}

Points info(Rng& rng) {
  Points points;
  for (Timestamp at = kDataBegin + phase(rng, kInterval); at < kDataEnd; at += std::chrono::minutes{1}) points.push_back({at, 1});
  return points;
}

Points make_points(Rng& rng, Kind kind, std::size_t index) {
  switch (kind) {
    case Kind::counter: return counter(rng);
    case Kind::ragged_counter: return ragged_counter(rng);
    case Kind::gauge: return gauge(rng, index);
    case Kind::state: return state(rng);
    case Kind::odd: return odd(rng);
    case Kind::sparse: return sparse(rng);
    case Kind::wide: return wide(rng);
    case Kind::info: break;
  }
  return info(rng);
}

}  // namespace

std::span<const Metric> metrics() {
  static const std::array<Metric, 13> kMetrics{{
      {"packets_total", Kind::counter, {"device", "port"}},
      {"naks_total", Kind::counter, {"device", "port"}},
      {"pause_total", Kind::counter, {"device", "port", "priority"}},
      {"late_total", Kind::ragged_counter, {"device", "port"}},
      {"level", Kind::gauge, {"device", "port", "host"}},
      {"temperature", Kind::gauge, {"device", "port"}},
      {"state", Kind::state, {"device", "port"}},
      {"odd", Kind::odd, {"device", "port"}},
      {"sparse", Kind::sparse, {"device"}},
      {"wide", Kind::wide, {"device"}},
      {"port_info", Kind::info, {"device", "port", "netdev"}},
      {"device_info", Kind::info, {"device", "driver"}},
      {"alone", Kind::gauge, {}},
  }};
  return kMetrics;
}

const std::vector<std::string>& label_values(std::string_view label) {
  static const std::map<std::string_view, std::vector<std::string>> kValues{
      {"device", {"rxe1", "mlx5_0", "a \"b\" \\ é"}}, {"port", {"1", "2"}}, {"priority", {"0", "3"}},
      {"host", {"a", "b"}}, {"netdev", {"eth0", "eth1"}}, {"driver", {"rxe", "mlx5"}}};
  static const std::vector<std::string> kNone{"x"};
  const auto found = kValues.find(label);
  return found == kValues.end() ? kNone : found->second;
}

std::vector<Series> make_series(Rng& rng) {
  std::vector<Series> all;
  for (const Metric& metric : metrics()) {
    std::size_t index = 0;
    // An information metric has one series for each thing it describes, so that others can be joined with it.
    std::size_t turn = metric.kind == Kind::info ? rng.below(2) : 0;
    for (const Labels& labels : combinations(metric)) {
      ++index;
      if (metric.kind == Kind::info && ++turn % 2 == 0) continue;
      if (!metric.labels.empty() && rng.chance(5)) continue;
      all.push_back({labels, make_points(rng, metric.kind, index)});
    }
  }
  return all;
}

}  // namespace rdmend::differential
