// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace rdmend::daemon {

// application/x-www-form-urlencoded: each name=value is put into `parameters`, over what was there.
void parse_form(std::string_view body, std::map<std::string, std::string, std::less<>>& parameters);

}  // namespace rdmend::daemon
