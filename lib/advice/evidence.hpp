// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "store/store.hpp"

namespace rdmend::advice {

// A stretch of time, left-open as Prometheus' ranges are: (from, to].
struct Window {
  Timestamp from{}, to{};
};

// What a counter of one port did in a window: the sum of its rises between the first and the last point that lie in it (a
// fall is a reset), over the time between these points. Unlike Prometheus' rate() nothing is extrapolated, so that two
// windows of different length compare. nullopt without two points: no data is not zero.
std::optional<double> per_second(const store::Store& store, const std::string& metric, const std::string& device,
                                 const std::string& port, Window window);

// The value of label `name` on the port's rdma_port_info, "" when unknown.
std::string port_info(const store::Store& store, const std::string& device, const std::string& port, Timestamp now,
                      const std::string& name);

}  // namespace rdmend::advice
