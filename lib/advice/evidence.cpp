// SPDX-License-Identifier: Apache-2.0
#include "advice/evidence.hpp"

#include <algorithm>
#include <vector>

namespace rdmend::advice {
namespace {

using store::Matcher;

// Names come from labels of the store itself; equality matchers cannot fail to be made.
std::vector<Matcher> of_port(const std::string& metric, const std::string& device, const std::string& port) {
  std::vector<Matcher> matchers;
  const std::pair<std::string, std::string> wanted[] = {{std::string(kMetricName), metric}, {"device", device}, {"port", port}};
  for (const auto& [name, value] : wanted)
    if (auto made = Matcher::make(Matcher::Op::equal, name, value)) matchers.push_back(std::move(*made));
  return matchers;
}

struct Rise {
  double total = 0;
  Timestamp first{}, last{};
  std::size_t points = 0;
};

Rise rise_of(std::span<const store::Point> points) {
  Rise rise;
  double before = 0;
  for (const auto& point : points) {
    if (is_stale(point.value)) continue;
    if (rise.points == 0)
      rise.first = point.at;
    else
      rise.total += point.value >= before ? point.value - before : point.value;
    before = point.value;
    rise.last = point.at;
    ++rise.points;
  }
  return rise;
}

}  // namespace

std::optional<double> per_second(const store::Store& store, const std::string& metric, const std::string& device,
                                 const std::string& port, Window window) {
  std::optional<double> sum;
  store.select(of_port(metric, device, port), window.from, window.to,
               [&](const Labels&, std::span<const store::Point> points) {
                 const auto rise = rise_of(points);
                 if (rise.points < 2) return;
                 const std::chrono::duration<double> span = rise.last - rise.first;
                 sum = sum.value_or(0) + rise.total / span.count();
               });
  return sum;
}

std::string port_info(const store::Store& store, const std::string& device, const std::string& port, Timestamp now,
                      const std::string& name) {
  std::string value;
  store.select(of_port("rdma_port_info", device, port), now - std::chrono::minutes{5}, now,
               [&](const Labels& labels, std::span<const store::Point> points) {
                 if (!points.empty() && !is_stale(points.back().value)) value = labels.get(name);
               });
  return value;
}

}  // namespace rdmend::advice
