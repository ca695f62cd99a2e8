// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "rules/engine.hpp"

namespace rdmend::daemon {

// The alerts' `for` state as a journal document, so that it survives a restart.
std::string write_for_state(std::span<const rules::SavedAlert> saved);
// "" is none. A text that is not such a document is an error: the state is then lost, and said to be.
Result<std::vector<rules::SavedAlert>> read_for_state(const std::string& text);

}  // namespace rdmend::daemon
