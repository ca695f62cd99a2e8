// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rdmend::promql {

// Go's strconv.FormatFloat of a float64, with the fewest digits that read back equal.
std::string format_plain(
    double value);  // 'f': 100000000000000000000000, as label values of count_values have it
std::string format_general(double value);  // 'g': 1e+23, 1e+06, as %v prints it

}  // namespace rdmend::promql
