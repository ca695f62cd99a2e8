// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// restart_unit: {unit: opensm.service, deadline: 30s} — a unit of systemd's, never rdmend's own.
std::unique_ptr<Remedy> compile_restart_unit(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
