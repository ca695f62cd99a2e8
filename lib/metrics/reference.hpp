// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rdmend::metrics {

// config/reference/metrics.md as it should stand: every family of the table, in Markdown.
std::string reference_page();

}  // namespace rdmend::metrics
