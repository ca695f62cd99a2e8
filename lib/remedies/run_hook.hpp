// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// run_hook: {command: [/path, argument...], deadline: 10s} — the operator's own program, told of the alert.
std::unique_ptr<Remedy> compile_run_hook(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
