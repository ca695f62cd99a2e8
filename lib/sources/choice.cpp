// SPDX-License-Identifier: Apache-2.0
#include "sources/choice.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "base/log.hpp"

namespace rdmend::sources {
namespace {

using Patterns = std::vector<std::unique_ptr<re2::RE2>>;

void add(Patterns& to, const std::string& of, const std::string& text) {
  to.push_back(std::make_unique<RE2>(text, RE2::Quiet));
  if (to.back()->ok()) return;
  log::error("sources", "not a regular expression: no " + of + " matches it", {{"pattern", text}, {"error", to.back()->error()}});
  to.pop_back();
}

bool any(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return RE2::FullMatch(name, *pattern); });
}

}  // namespace

Choice::Choice(const std::string& of, const std::vector<std::string>& include, const std::vector<std::string>& exclude)
    : all_(exclude.empty() && std::find(include.begin(), include.end(), ".*") != include.end()) {
  for (const auto& text : include) add(include_, of, text);
  for (const auto& text : exclude) add(exclude_, of, text);
}
Choice::~Choice() = default;
Choice::Choice(Choice&&) noexcept = default;
Choice& Choice::operator=(Choice&&) noexcept = default;

bool Choice::wants(const std::string& name) const { return all_ || (any(include_, name) && !any(exclude_, name)); }

}  // namespace rdmend::sources
