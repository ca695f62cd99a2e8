// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// advise: {about: TOPIC} — the advice of lib/advice for the alert's port, as the outcome's reason.
std::unique_ptr<Remedy> compile_advise(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
