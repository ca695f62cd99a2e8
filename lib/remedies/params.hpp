// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "model/decision.hpp"

namespace rdmend::remedies {

// The parameter `name` of a step, null when it is not given.
const RemedyParam* find_param(const RemedySpec& spec, std::string_view name);
// Its one value; a list where a single value belongs is reported and nullptr. `param` may be null.
const std::string* scalar(const RemedySpec& spec, const RemedyParam* param, Diagnostics& diagnostics);
// A fault of the parameter's value.
void value_error(const RemedySpec& spec, const RemedyParam& param, std::string what, std::string hint,
                 Diagnostics& diagnostics);

struct DurationRange {
  milliseconds least, most;
};
// Reads the parameter `name` into `into`, which has the default: it stays where none is given, and is the example where a value is wrong.
void read_duration(const RemedySpec& spec, std::string_view name, DurationRange range, milliseconds& into, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
