// SPDX-License-Identifier: Apache-2.0
#include "metrics/unknown_series.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "metrics/exposition.hpp"

namespace rdmend::metrics {
namespace {

using store::Matcher;
constexpr std::size_t kMostName = 64;  // bytes of a name that are shown

bool wants_a_name(const Matcher& matcher) {
  return matcher.name() == kMetricName &&
         (matcher.op() == Matcher::Op::equal || matcher.op() == Matcher::Op::regex);
}

}  // namespace

SeriesNames::SeriesNames() : names_{"ALERTS", "ALERTS_FOR_STATE"} {
  for (const auto& family : families()) {
    names_.emplace(family.name);
    if (family.type != FamilyType::summary) continue;
    names_.insert(std::string(family.name) + "_sum");
    names_.insert(std::string(family.name) + "_count");
  }
}

void SeriesNames::add_records(const std::vector<rules::Group>& groups) {
  for (const auto& group : groups)
    for (const auto& rule : group.rules)
      if (!rule.record.empty()) names_.insert(rule.record);
}

void SeriesNames::warn_of_unknown(const std::vector<rules::Group>& groups, Diagnostics& diagnostics) const {
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  const auto warn = [&](const rules::Group& group, const rules::Rule& rule, const Matcher& matcher) {
    const bool exact = matcher.op() == Matcher::Op::equal;
    const auto near = exact ? nearest(matcher.value(), names) : std::string_view{};
    diagnostics.warning(group.file, rule.at,
                        fmt::format("the rule '{}' reads {}'{}', which rdmend does not have",
                                    printable(rule.alert.empty() ? rule.record : rule.alert, kMostName),
                                    exact ? "" : "a series like ", printable(matcher.value(), kMostName)),
                        near.empty() ? "its series are in config/reference/metrics.md"
                                     : fmt::format("did you mean '{}'?", near));
  };
  for (const auto& group : groups)
    for (const auto& rule : group.rules)
      for (const auto& selector : rule.expression.selectors())
        for (const auto& matcher : selector)
          if (wants_a_name(matcher) &&
              std::none_of(names.begin(), names.end(), [&](auto name) { return matcher.matches(name); }))
            warn(group, rule, matcher);
}

}  // namespace rdmend::metrics
