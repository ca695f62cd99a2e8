// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// raise_min_rnr_timer: {factor: 4, ceiling: 10ms} — the responder's own knob, live, through the external
// hand; given back in the end. config/reference/remedies/raise_min_rnr_timer.md says exactly what it does.
std::unique_ptr<Remedy> compile_raise_min_rnr_timer(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
