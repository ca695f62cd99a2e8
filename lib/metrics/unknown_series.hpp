// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <vector>

#include "rules/rule_file.hpp"

namespace rdmend::metrics {

// The names that a rule can ask for. A rule on a misspelt name is legal and never fires: the least that can
// be done is to say so.
class SeriesNames {
 public:
  SeriesNames();  // rdmend's own families, and the alerts' series
  void add_records(const std::vector<rules::Group>& groups);
  // A warning for each selector whose metric name, or pattern of one, nothing has.
  void warn_of_unknown(const std::vector<rules::Group>& groups, Diagnostics& diagnostics) const;

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace rdmend::metrics
