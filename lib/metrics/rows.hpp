// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "metrics/exposition.hpp"
#include "model/labels.hpp"

namespace rdmend::metrics {

enum class Part { value, sum, count };

// The metrics of one family, kept from one answer to the next: a series that is still at its place needs its new value only. From the
// first one that is another, all are made anew. A summary's are always made anew: they are few, and two series are one metric.
class Rows {
 public:
  explicit Rows(const FamilyRow& row);

  void rewind();
  // The next series. Null: not known, make() it.
  prometheus::ClientMetric* next(const Labels& series);
  prometheus::ClientMetric& make(const Labels& series, const Labels& shown);
  void put(prometheus::ClientMetric& metric, Part part, double value) const;
  // How many were added since rewind().
  [[nodiscard]] std::size_t size() const { return next_; }
  // Forgets all but the first `most` of them.
  void cut(std::size_t most);
  // To be moved out, serialized, and moved back.
  prometheus::MetricFamily& family() { return family_; }

 private:
  prometheus::MetricFamily family_;
  std::vector<Labels> series_;  // of the metrics
  std::size_t next_ = 0;
};

}  // namespace rdmend::metrics
