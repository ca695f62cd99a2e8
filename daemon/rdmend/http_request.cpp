// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

const std::string& HttpRequest::parameter(std::string_view name) const {
  static const std::string kNone;
  const auto at = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == name; });
  return at == parameters.end() ? kNone : at->second;
}

std::vector<std::string_view> HttpRequest::values(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const auto& [key, value] : parameters)
    if (key == name) out.emplace_back(value);
  return out;
}

}  // namespace rdmend::daemon
