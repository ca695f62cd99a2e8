// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "promql/ast.hpp"

namespace rdmend::promql {

using Faults = std::vector<ParseError>;

// The rules of types and arguments, which are told all at once. Children may be null: their fault is already
// told.
void check_unary(const Unary& unary, Position at, Faults& faults);
void check_binary(const Binary& binary, Position operator_at, Faults& faults);
void check_aggregate(const Aggregate& aggregate, Position at, Faults& faults);
void check_call(const Call& call, Position at, Faults& faults);
void check_selector(const VectorSelector& selector, Position at, Faults& faults);
void check_subquery(const Subquery& subquery, Position at, Faults& faults);
// "an instant vector".
const char* described(ValueType type);

}  // namespace rdmend::promql
