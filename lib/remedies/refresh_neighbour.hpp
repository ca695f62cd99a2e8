// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// refresh_neighbour: has the kernel resolve the peer's ARP or ND entry again.
std::unique_ptr<Remedy> compile_refresh_neighbour(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
