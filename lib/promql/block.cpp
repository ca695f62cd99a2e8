// SPDX-License-Identifier: Apache-2.0
#include "promql/block.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace rdmend::promql {
namespace {

bool listed(const LabelFilter& filter, std::string_view name) {
  return std::binary_search(filter.names.begin(), filter.names.end(), name, std::less<>());
}

// Whether a label of the identity counts, when all but some do.
bool counts(const Identity& identity, const LabelFilter& filter, std::string_view name) {
  if (name == kMetricName && (!filter.everything || identity.nameless)) return false;
  return filter.names.empty() || !listed(filter, name);
}

std::size_t hash_of(const Identity& identity, const LabelFilter& filter) {
  constexpr std::hash<std::string_view> kHash;
  std::size_t seed = 0x9e3779b97f4a7c15ULL;
  const auto mix = [&](std::string_view part) {
    seed = (std::rotl(seed, 5) ^ kHash(part)) * 0x9e3779b97f4a7c15ULL;
  };
  if (filter.only) {
    for (const auto& name : filter.names) mix(identity.get(name));
    return seed;
  }
  for (const auto& [name, value] : *identity.labels) {
    if (!counts(identity, filter, name)) continue;
    mix(name);
    mix(value);
  }
  return seed;
}

bool same(const Identity& a, const Identity& b, const LabelFilter& filter) {
  if (filter.only)
    return std::all_of(filter.names.begin(), filter.names.end(),
                       [&](const auto& name) { return a.get(name) == b.get(name); });
  if (a.labels == b.labels && (a.nameless == b.nameless || !filter.everything)) return true;
  auto left = a.labels->begin(), right = b.labels->begin();
  while (true) {
    while (left != a.labels->end() && !counts(a, filter, left->first)) ++left;
    while (right != b.labels->end() && !counts(b, filter, right->first)) ++right;
    if (left == a.labels->end() || right == b.labels->end())
      return left == a.labels->end() && right == b.labels->end();
    if (*left != *right) return false;
    ++left;
    ++right;
  }
}

}  // namespace

Labels Identity::materialised() const {
  Labels out = *labels;
  if (nameless) out.erase(kMetricName);
  return out;
}

Labels filtered(const Identity& identity, const LabelFilter& filter) {
  std::vector<Labels::Pair> pairs;
  for (const auto& pair : *identity.labels) {
    const bool kept = filter.only
                          ? listed(filter, pair.first) && !(identity.nameless && pair.first == kMetricName)
                          : counts(identity, filter, pair.first);
    if (kept) pairs.push_back(pair);
  }
  return Labels(std::move(pairs));
}

Numbering::Numbering(LabelFilter filter, std::size_t expected)
    : filter_(filter), table_(std::bit_ceil(expected * 2 + 8), 0) {
  known_.reserve(expected);
}

// Where the identity stands in the table, or would.
std::size_t Numbering::place(const Identity& identity, std::size_t hash) const {
  auto at = hash & (table_.size() - 1);
  for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1)) {
    const auto& other = known_[table_[at] - 1];
    if (other.hash == hash && same(other.identity, identity, filter_)) break;
  }
  return at;
}

std::uint32_t Numbering::find(const Identity& identity) const {
  const auto entry = table_[place(identity, hash_of(identity, filter_))];
  return entry == 0 ? kNone : entry - 1;
}

std::uint32_t Numbering::number(const Identity& identity) {
  const auto hash = hash_of(identity, filter_);
  const auto at = place(identity, hash);
  if (table_[at] != 0) return table_[at] - 1;
  known_.push_back({hash, identity});
  table_[at] = static_cast<std::uint32_t>(known_.size());
  if (known_.size() * 2 > table_.size()) grow();
  return static_cast<std::uint32_t>(known_.size() - 1);
}

void Numbering::grow() {
  std::vector<std::uint32_t> larger(table_.size() * 2, 0);
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    auto at = known_[i].hash & (larger.size() - 1);
    while (larger[at] != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = i + 1;
  }
  table_ = std::move(larger);
}

std::span<double> Block::add(const Identity& identity) {
  ids.push_back(identity);
  cells.resize(cells.size() + steps, kAbsent);
  return row(ids.size() - 1);
}

std::size_t Block::present() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](double cell) { return !is_absent(cell); }));
}

void Block::remove_empty_rows() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows(); ++i) {
    const auto from = row(i);
    if (std::all_of(from.begin(), from.end(), is_absent)) continue;
    if (kept != i) {
      ids[kept] = ids[i];
      std::copy(from.begin(), from.end(), row(kept).begin());
    }
    ++kept;
  }
  ids.resize(kept);
  cells.resize(kept * steps);
}

}  // namespace rdmend::promql
