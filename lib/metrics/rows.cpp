// SPDX-License-Identifier: Apache-2.0
#include "metrics/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmend::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

MetricType serializer_type(FamilyType type) {
  switch (type) {
    case FamilyType::counter: return MetricType::Counter;
    case FamilyType::gauge: return MetricType::Gauge;
    case FamilyType::summary: return MetricType::Summary;
    case FamilyType::untyped: break;
  }
  return MetricType::Untyped;
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

}  // namespace

Rows::Rows(const FamilyRow& row) : family_{std::string{row.name}, std::string{row.help}, serializer_type(row.type), {}} {}

void Rows::rewind() {
  next_ = 0;
  if (family_.type == MetricType::Summary) cut(0);
}

ClientMetric* Rows::next(const Labels& series) {
  if (family_.type == MetricType::Summary) {
    const auto known = std::find(series_.begin(), series_.end(), series);
    return known == series_.end() ? nullptr : &family_.metric[static_cast<std::size_t>(known - series_.begin())];
  }
  if (next_ < series_.size() && series_[next_] == series) return &family_.metric[next_++];
  cut(next_);
  return nullptr;
}

ClientMetric& Rows::make(const Labels& series, const Labels& shown) {
  series_.push_back(series);
  ++next_;
  auto& made = family_.metric.emplace_back();
  made.label.reserve(shown.size());
  for (const auto& [name, value] : shown)
    if (name != kMetricName) made.label.push_back({name, valid_utf8(value)});
  return made;
}

void Rows::put(ClientMetric& metric, Part part, double value) const {
  switch (family_.type) {
    case MetricType::Counter: metric.counter.value = value; break;
    case MetricType::Gauge: metric.gauge.value = value; break;
    case MetricType::Summary:
      if (part == Part::sum) metric.summary.sample_sum = value;
      if (part == Part::count && value >= 0) metric.summary.sample_count = static_cast<std::uint64_t>(value);
      break;
    default: metric.untyped.value = value; break;
  }
}

void Rows::cut(std::size_t most) {
  if (series_.size() <= most) return;
  series_.resize(most);
  family_.metric.resize(most);
  next_ = std::min(next_, most);
}

}  // namespace rdmend::metrics
