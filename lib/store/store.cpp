// SPDX-License-Identifier: Apache-2.0
#include "store/store.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>

#include "store/index.hpp"

namespace rdmend::store {
namespace {

constexpr std::size_t kScopeBytes = 128;  // of an entry of the table of scopes, its name not counted

// A series that may have been forgotten since.
struct Handle {
  Slot slot = 0;
  std::uint32_t generation = 0;
};

bool too_large(const Labels& labels) {
  std::size_t sum = 0;
  for (const auto& [name, value] : labels) sum += name.size() + value.size();
  return sum > kMostLabelBytes;
}

}  // namespace

struct Store::State {
  explicit State(Limits l) : limits(l) {}

  Limits limits;
  std::vector<std::unique_ptr<Series>> slots;
  std::vector<std::uint32_t> generations;  // of the slots: counts how often each was given up
  std::vector<Slot> free_slots;
  Index index{slots};
  std::unordered_map<std::string, std::vector<Handle>> scopes;
  std::uint64_t batches = 0;
  Stats stats;

  Series* get(Handle handle) {
    return handle.slot < slots.size() && generations[handle.slot] == handle.generation
               ? slots[handle.slot].get()
               : nullptr;
  }
  Handle handle_of(Slot slot) const { return {slot, generations[slot]}; }
  Slot create(const Labels& labels);
  void forget(std::span<const Slot> gone);
  bool append(Series& series, Timestamp at, double value);
  void make_room();
  void halve_the_largest(std::size_t target);
  void forget_the_oldest(std::size_t target);
  std::optional<Handle> place(const Sample& sample, const Handle* guess);
  void end_missing(std::vector<Handle>& members, const std::vector<Handle>& before, Timestamp at);
  void set_members(const std::string& scope, std::vector<Handle> members);
  void forget_dead_scopes();
};

Slot Store::State::create(const Labels& labels) {
  Slot slot = 0;
  if (free_slots.empty()) {
    slot = static_cast<Slot>(slots.size());
    slots.emplace_back();
    generations.push_back(0);
  } else {
    slot = free_slots.back();
    free_slots.pop_back();
  }
  slots[slot] = std::make_unique<Series>(labels);
  index.insert(slot);
  stats.bytes += slots[slot]->bytes();
  ++stats.series;
  return slot;
}

void Store::State::forget(std::span<const Slot> gone) {
  if (gone.empty()) return;
  index.erase(gone);
  for (const auto slot : gone) {
    stats.points -= slots[slot]->size();
    stats.bytes -= slots[slot]->bytes();
    --stats.series;
    slots[slot].reset();
    ++generations[slot];
    free_slots.push_back(slot);
  }
}

// Whether the series has the point now.
bool Store::State::append(Series& series, Timestamp at, double value) {
  if (!series.empty()) {
    const auto last = series.last().at;
    if (at == last) {
      series.replace_last(value);
      return true;
    }
    if (at < last) {
      ++stats.rejected_points;
      return false;
    }
  }
  const auto before = series.bytes();
  if (!series.empty() && series.points().front().at <= at - limits.retention) stats.points -= series.drop_until(at - limits.retention);
  series.push({at, value});
  stats.bytes += series.bytes() - before;
  ++stats.points;
  return true;
}

void Store::State::make_room() {
  if (stats.bytes <= limits.max_bytes) return;
  // A sixteenth more than is needed, so that the search for the largest is not made for every point.
  const auto target = limits.max_bytes - limits.max_bytes / 16;
  halve_the_largest(target);
  if (stats.bytes > limits.max_bytes) forget_the_oldest(target);
}

void Store::State::halve_the_largest(std::size_t target) {
  std::priority_queue<std::pair<std::size_t, Slot>> largest;
  for (Slot slot = 0; slot < slots.size(); ++slot)
    if (slots[slot]) largest.emplace(slots[slot]->size(), slot);
  while (stats.bytes > target && !largest.empty() && largest.top().first > 2) {
    const auto [size, slot] = largest.top();
    largest.pop();
    auto& series = *slots[slot];
    const auto before = series.bytes();
    series.drop_front(size / 2);
    series.shrink();
    stats.bytes -= before - series.bytes();
    stats.points -= size / 2;
    stats.evicted_points += size / 2;
    largest.emplace(series.size(), slot);
  }
}

void Store::State::forget_the_oldest(std::size_t target) {
  std::vector<Slot> by_age;
  for (Slot slot = 0; slot < slots.size(); ++slot)
    if (slots[slot]) by_age.push_back(slot);
  const auto last = [&](Slot slot) {
    return slots[slot]->empty() ? Timestamp::min() : slots[slot]->last().at;
  };
  std::sort(by_age.begin(), by_age.end(), [&](Slot a, Slot b) { return last(a) < last(b); });
  std::size_t bytes = stats.bytes, count = 0;
  for (; count < by_age.size() && bytes > target; ++count) {
    bytes -= slots[by_age[count]]->bytes();
    stats.evicted_points += slots[by_age[count]]->size();
  }
  forget(std::span(by_age).first(count));
}

// The series of a sample, unless its labels are too large; `guess` is the one that stood at its place in the batch before.
std::optional<Handle> Store::State::place(const Sample& sample, const Handle* guess) {
  if (guess != nullptr)
    if (const auto* series = get(*guess); series != nullptr && series->labels() == sample.labels)
      return *guess;
  if (too_large(sample.labels)) return std::nullopt;
  const auto* slot = index.find(sample.labels);
  return handle_of(slot != nullptr ? *slot : create(sample.labels));
}

// Ends the series of `before` that this batch did not have. One that cannot take the marker yet stays a
// member.
void Store::State::end_missing(std::vector<Handle>& members, const std::vector<Handle>& before,
                               Timestamp at) {
  for (const auto handle : before) {
    auto* series = get(handle);
    if (series == nullptr || series->mark == batches) continue;
    if (series->empty() || is_stale(series->last().value)) continue;
    if (!append(*series, at, stale_marker())) members.push_back(handle);
  }
}

void Store::State::set_members(const std::string& scope, std::vector<Handle> members) {
  const auto known = scopes.find(scope);
  if (members.empty()) {
    if (known == scopes.end()) return;
    stats.bytes -= kScopeBytes + scope.size();
    scopes.erase(known);
    return;
  }
  if (known == scopes.end()) stats.bytes += kScopeBytes + scope.size();
  scopes[scope] = std::move(members);
}

// A source that vanished without a last batch would leave its scope behind.
void Store::State::forget_dead_scopes() {
  const auto dead = [&](const Handle& handle) { return get(handle) == nullptr; };
  std::erase_if(scopes, [&](const auto& scope) {
    if (!std::all_of(scope.second.begin(), scope.second.end(), dead)) return false;
    stats.bytes -= kScopeBytes + scope.first.size();
    return true;
  });
}

Store::Store(Limits limits) : state_(std::make_unique<State>(limits)) {}
Store::~Store() = default;

void Store::set_limits(Limits limits) {
  state_->limits = limits;
  state_->make_room();
}

void Store::ingest(const Batch& batch) {
  auto& state = *state_;
  ++state.batches;
  std::vector<Handle> before;
  if (const auto known = state.scopes.find(batch.scope); known != state.scopes.end())
    before = std::move(known->second);
  std::vector<Handle> members;
  members.reserve(batch.samples.size());
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const auto& sample = batch.samples[i];
    const auto handle = state.place(sample, i < before.size() ? &before[i] : nullptr);
    if (!handle) {
      ++state.stats.rejected_points;
      continue;
    }
    auto& series = *state.get(*handle);
    state.append(series, batch.at, sample.value);
    series.mark = state.batches;
    members.push_back(*handle);
    state.make_room();
  }
  if (batch.last) {
    ++state.batches;  // what it still had ends as well
    before.insert(before.end(), members.begin(), members.end());
    members.clear();
  }
  state.end_missing(members, before, batch.at);
  state.set_members(batch.scope, std::move(members));
  state.make_room();
}

void Store::append(const Labels& labels, Timestamp at, double value) {
  if (too_large(labels)) {
    ++state_->stats.rejected_points;
    return;
  }
  const auto* slot = state_->index.find(labels);
  state_->append(*state_->slots[slot != nullptr ? *slot : state_->create(labels)], at, value);
  state_->make_room();
}

void Store::select(std::span<const Matcher> matchers, Timestamp from, Timestamp to,
                   const Visitor& visit) const {
  for (const auto slot : state_->index.candidates(matchers)) {
    const auto& series = *state_->slots[slot];
    const auto matches = [&](const Matcher& m) { return m.matches(series.labels().get(m.name())); };
    if (!std::all_of(matchers.begin(), matchers.end(), matches)) continue;
    if (const auto points = series.between(from, to); !points.empty()) visit(series.labels(), points);
  }
}

void Store::latest(Timestamp at, milliseconds look_back, const LatestVisitor& visit) const {
  for (const auto slot : state_->index.all()) {
    const auto& series = *state_->slots[slot];
    if (const auto* last = series.latest(at - look_back, at); last != nullptr && !is_stale(last->value)) visit(series.labels(), *last);
  }
}

void Store::expire(Timestamp now) {
  std::vector<Slot> empty;
  for (Slot slot = 0; slot < state_->slots.size(); ++slot) {
    if (!state_->slots[slot]) continue;
    auto& series = *state_->slots[slot];
    const auto before = series.bytes();
    state_->stats.points -= series.drop_until(now - state_->limits.retention);
    state_->stats.bytes -= before - series.bytes();
    if (series.empty()) empty.push_back(slot);
  }
  state_->forget(empty);
  state_->forget_dead_scopes();
}

void Store::set_back(milliseconds by) {
  for (const auto& series : state_->slots)
    if (series) series->set_back(by);
}

Stats Store::stats() const {
  return state_->stats;
}

}  // namespace rdmend::store
