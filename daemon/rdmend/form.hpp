// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmend::daemon {

// In the order that they came; a name may come more than once.
using Parameters = std::vector<std::pair<std::string, std::string>>;
inline constexpr std::size_t kMostParameters = 1000;  // of one request

// application/x-www-form-urlencoded: appends each name=value; false when there are more than kMostParameters in all. What is
// no %XX stays as it is.
bool parse_form(std::string_view text, Parameters& into);

// What stands between the method and the version of a request line.
struct Target {
  std::string path;  // decoded
  std::string query;  // as it came
};
Target parse_target(std::string_view text);

// Whether an Accept-Encoding header lets an answer be gzip.
bool accepts_gzip(std::string_view header);

}  // namespace rdmend::daemon
