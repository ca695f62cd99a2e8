// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/labels.hpp"

namespace rdmend::ctl {

// A series as promtool's tests name it: up{job="a"}, {__name__="up"}, {} or nothing.
Result<Labels> parse_series(std::string_view text);

// promtool's notation of values: "0+10x5 1-2x3 5x3 _ _x3 stale NaN". A blank is nullopt. At most `most`
// values.
Result<std::vector<std::optional<double>>> parse_values(std::string_view text, std::size_t most = 1'000'000);

}  // namespace rdmend::ctl
