// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "model/decision.hpp"
#include "yaml/reader.hpp"

namespace rdmend::rules {

// The `remedy` key: a list of steps, each `kind` alone or {kind: {parameter: value or list of values}}. What kinds and
// parameters there are is none of this room's business.
std::shared_ptr<const std::vector<RemedySpec>> read_remedies(yaml::Reader& reader, const yaml::Node& node);

}  // namespace rdmend::rules
