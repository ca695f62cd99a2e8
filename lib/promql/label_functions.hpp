// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "promql/evaluator.hpp"

namespace rdmend::promql {

// Prometheus 3 takes any name that is not empty and valid UTF-8.
bool is_label_name(std::string_view name);

// The functions that look at more than values: at labels, at time, at what is absent, at the vector as a
// whole.
Block absent(Evaluator& evaluator, const Call& call, const Frame& frame);
Block absent_over_time(Evaluator& evaluator, const Call& call, const Frame& frame);
Block label_join(Evaluator& evaluator, const Call& call, const Frame& frame);
Block label_replace(Evaluator& evaluator, const Call& call, const Frame& frame);
Block scalar(Evaluator& evaluator, const Call& call, const Frame& frame);
Block sort(Evaluator& evaluator, const Call& call, const Frame& frame);
Block sort_desc(Evaluator& evaluator, const Call& call, const Frame& frame);
Block time(Evaluator& evaluator, const Call& call, const Frame& frame);
Block timestamp(Evaluator& evaluator, const Call& call, const Frame& frame);
Block vector(Evaluator& evaluator, const Call& call, const Frame& frame);

}  // namespace rdmend::promql
