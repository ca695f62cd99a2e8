// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>

#include "store/store.hpp"

namespace rdmend::store {

inline Timestamp at(std::int64_t seconds_since) {
  return Timestamp{seconds{1'700'000'000 + seconds_since}};
}

inline Matcher match(Matcher::Op op, std::string name, std::string value) {
  return Matcher::make(op, std::move(name), std::move(value)).value();
}
inline Matcher named(std::string name) {
  return match(Matcher::Op::equal, "__name__", std::move(name));
}

// What a selection holds, one series a line: up{a="1"}: 0=1 5=2 10=stale (seconds since at(0)).
inline std::string dump(const Store& store, std::vector<Matcher> matchers, Timestamp from = at(-1'000'000),
                        Timestamp to = at(1'000'000)) {
  std::string out;
  store.select(matchers, from, to, [&](const Labels& labels, std::span<const Point> points) {
    out += labels.text() + ":";
    for (const auto& point : points) {
      const auto when = std::chrono::duration_cast<seconds>(point.at - at(0)).count();
      out +=
          is_stale(point.value) ? fmt::format(" {}=stale", when) : fmt::format(" {}={}", when, point.value);
    }
    out += "\n";
  });
  return out;
}

}  // namespace rdmend::store
