// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// The first lines of a kind's page, config/reference/remedies/<kind>.md, as the table has them; they end with
// kPageMarker.
std::string reference_head(const KindRow& row);
inline constexpr std::string_view kPageMarker =
    "<!-- Above: made from the table in lib/remedies/table.cpp. Below: written by hand. -->\n";

}  // namespace rdmend::remedies
