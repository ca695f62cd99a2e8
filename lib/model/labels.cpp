// SPDX-License-Identifier: Apache-2.0
#include "model/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace rdmend {
namespace {

auto lower_bound(auto& pairs, std::string_view name) {
  return std::lower_bound(pairs.begin(), pairs.end(), name,
                          [](const Labels::Pair& pair, std::string_view wanted) { return wanted.compare(pair.first) > 0; });
}

std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

bool is_bare_name(std::string_view name) {
  const auto may_stand = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':'; };
  return !name.empty() && (name.front() < '0' || name.front() > '9') && std::all_of(name.begin(), name.end(), may_stand);
}

}  // namespace

Labels::Labels(std::initializer_list<Pair> pairs) : Labels(std::vector<Pair>(pairs)) {}

Labels::Labels(std::vector<Pair> pairs) {
  std::erase_if(pairs, [](const Pair& pair) { return pair.second.empty(); });
  std::sort(pairs.begin(), pairs.end());
  const auto same_name = [](const Pair& a, const Pair& b) { return a.first == b.first; };
  pairs.erase(std::unique(pairs.begin(), pairs.end(), same_name), pairs.end());
  keep(std::move(pairs));
}

const std::vector<Labels::Pair>& Labels::pairs() const {
  static const std::vector<Pair> kNone;
  return pairs_ ? *pairs_ : kNone;
}

void Labels::keep(std::vector<Pair> pairs) {
  if (pairs.empty())
    pairs_.reset();
  else
    pairs_ = std::make_shared<const std::vector<Pair>>(std::move(pairs));
}

std::string_view Labels::get(std::string_view name) const {
  // The metric's name, which is asked for most, nearly always stands first.
  if (pairs_ && pairs_->front().first == name) return pairs_->front().second;
  const auto at = lower_bound(pairs(), name);
  return at != pairs().end() && at->first == name ? std::string_view(at->second) : std::string_view();
}

void Labels::set(std::string_view name, std::string_view value) {
  if (value.empty()) {
    erase(name);
    return;
  }
  const auto at = lower_bound(pairs(), name);
  std::vector<Pair> changed;
  changed.reserve(size() + 1);
  changed.assign(begin(), at);
  changed.emplace_back(name, value);
  changed.insert(changed.end(), at != end() && at->first == name ? std::next(at) : at, end());
  keep(std::move(changed));
}

void Labels::erase(std::string_view name) {
  const auto at = lower_bound(pairs(), name);
  if (at == end() || at->first != name) return;
  std::vector<Pair> changed;
  changed.reserve(size() - 1);
  changed.assign(begin(), at);
  changed.insert(changed.end(), std::next(at), end());
  keep(std::move(changed));
}

std::size_t Labels::hash() const {
  std::size_t seed = 0x9e3779b97f4a7c15ULL;
  const auto mix = [&](std::string_view part) { seed = (seed ^ std::hash<std::string_view>{}(part)) * 0x100000001b3ULL; };
  for (const auto& [name, value] : *this) {
    mix(name);
    mix(value);
  }
  return seed;
}

std::string Labels::text() const {
  // A name that is no identifier can only be written as a label's value.
  const auto name = is_bare_name(metric()) ? metric() : std::string_view();
  std::string inner;
  for (const auto& [label, value] : *this) {
    if (label == kMetricName && !name.empty()) continue;
    inner += fmt::format("{}{}={}", inner.empty() ? "" : ",", label, quoted(value));
  }
  return inner.empty() && !name.empty() ? std::string(name) : fmt::format("{}{{{}}}", name, inner);
}

}  // namespace rdmend
