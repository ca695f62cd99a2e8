// SPDX-License-Identifier: Apache-2.0
#include "rules/engine.hpp"

#include <algorithm>
#include <deque>

#include "rules/rule_state.hpp"

namespace rdmend::rules {
namespace {

struct GroupState {
  GroupContext context;
  std::vector<RuleState> rules;
  Instant next{};    // when step() evaluates it
  Timestamp last{};  // the time of its last evaluation, urgent ones too
};

// The last whole multiple of `interval` at or before `wall`.
Timestamp slot(Timestamp wall, milliseconds interval) {
  const auto past = wall.time_since_epoch() % interval;
  return wall - past - (past.count() < 0 ? interval : milliseconds{0});
}

void schedule(GroupState& group, Now now, Timestamp after) { group.next = now.mono + (slot(after, group.context.interval) + group.context.interval - now.wall); }

}  // namespace

struct Engine::State {
  store::Store& store;
  EngineOptions options;
  std::vector<GroupState> groups;
  // Rules that a reload took away, to be ended at the next step; and what they told last, for as long as it is told.
  std::vector<std::pair<GroupContext, RuleState>> retired;
  std::deque<Alert> resolved;
  Instant retire_at = Instant::max();

  Timestamp time_of(GroupState& group, Now now) const {
    // Late or not, the group's time is its slot; never at or before what it has already been evaluated at.
    const Timestamp wanted = slot(now.wall, group.context.interval);
    return wanted > group.last || group.last > now.wall ? wanted : now.wall;
  }

  void retire(Timestamp wall, std::vector<Decision>& decisions) {
    for (auto& [context, rule] : retired) rule.retire(context, store, wall, decisions);
    for (auto& [context, rule] : retired)
      for (const auto& [labels, entry] : rule.active()) resolved.push_back(entry.alert);
    retired.clear();
    retire_at = Instant::max();
    while (!resolved.empty() && (wall - resolved.front().resolved_at > options.resolved_retention || resolved.size() > 10'000)) resolved.pop_front();
  }
};

Engine::Engine(store::Store& store, EngineOptions options) : state_(std::make_unique<State>(State{store, std::move(options), {}, {}, {}, Instant::max()})) {}
Engine::~Engine() = default;

void Engine::load(std::vector<Group> groups, EngineOptions options, Now now) {
  auto old = std::move(state_->groups);
  state_->groups.clear();
  state_->options = std::move(options);
  state_->options.limits.subquery_step = state_->options.default_interval;
  for (Group& group : groups) {
    GroupState fresh;
    const auto interval = group.interval.count() > 0 ? group.interval : state_->options.default_interval;
    fresh.context = {group.name, group.file, interval, group.query_offset, group.limit};
    for (Rule& rule : group.rules) fresh.rules.emplace_back(std::move(rule));
    // Due at this very moment when it is a slot, else at the next one.
    schedule(fresh, now, now.wall - milliseconds{1});
    state_->groups.push_back(std::move(fresh));
  }
  // The same rule with the same labels first, then one whose labels were changed: its alerts resolve by themselves.
  for (const bool exact : {true, false})
    for (GroupState& group : state_->groups)
      for (RuleState& rule : group.rules)
        for (GroupState& former : old) {
          if (former.context.name != group.context.name) continue;
          group.last = std::max(group.last, former.last);
          const auto same = std::find_if(former.rules.begin(), former.rules.end(), [&](const RuleState& candidate) {
            return exact ? candidate.identity() == rule.identity() : candidate.name() == rule.name() && candidate.rule().alert.empty() == rule.rule().alert.empty();
          });
          if (same == former.rules.end() || rule.inherited()) continue;
          rule.inherit(*same);
          former.rules.erase(same);
        }
  for (GroupState& former : old)
    for (RuleState& rule : former.rules) state_->retired.emplace_back(former.context, std::move(rule));
  if (!state_->retired.empty()) state_->retire_at = now.mono;
}

std::vector<Decision> Engine::step(Now now) {
  std::vector<Decision> decisions;
  state_->retire(now.wall, decisions);
  for (GroupState& group : state_->groups) {
    if (group.next > now.mono) continue;
    const Timestamp at = state_->time_of(group, now);
    for (RuleState& rule : group.rules) rule.run(group.context, state_->options, state_->store, at, decisions, nullptr);
    group.last = at;
    schedule(group, now, now.wall);
  }
  return decisions;
}

std::vector<Decision> Engine::run_readers_of(std::span<const Labels> changed, Now now) {
  std::vector<Decision> decisions;
  std::vector<Labels> fresh(changed.begin(), changed.end());
  std::vector<const RuleState*> done;
  // In file order; what a rule wrote may concern rules before it as well, so until nothing new happens. Each runs once.
  for (bool again = true; std::exchange(again, false);) {
    for (GroupState& group : state_->groups) {
      // At an offset the changed samples are not to be seen yet; and time does not run backwards within a group.
      if (group.context.offset.count() > 0 || group.last > now.wall) continue;
      for (RuleState& rule : group.rules) {
        if (std::find(done.begin(), done.end(), &rule) != done.end() || !rule.reads(fresh)) continue;
        done.push_back(&rule);
        rule.run(group.context, state_->options, state_->store, now.wall, decisions, &fresh);
        group.last = now.wall;
        again = true;
      }
    }
  }
  return decisions;
}

void Engine::set_back(milliseconds by) {
  for (GroupState& group : state_->groups) {
    rules::set_back(group.last, by);
    for (RuleState& rule : group.rules) rule.set_back(by);
  }
  for (auto& [context, rule] : state_->retired) rule.set_back(by);
  for (Alert& alert : state_->resolved) rules::set_back(alert, by);
}

Instant Engine::next_due() const {
  Instant due = state_->retire_at;
  for (const GroupState& group : state_->groups) due = std::min(due, group.next);
  return due;
}

std::vector<RuleStatus> Engine::status() const {
  std::vector<RuleStatus> out;
  for (const GroupState& group : state_->groups)
    for (const RuleState& rule : group.rules) out.push_back(rule.status(group.context));
  return out;
}

std::vector<HealthChange> Engine::health_changes() {
  std::vector<HealthChange> out;
  for (GroupState& group : state_->groups)
    for (RuleState& rule : group.rules)
      if (auto change = rule.health_change(group.context)) out.push_back(std::move(*change));
  return out;
}

std::vector<Alert> Engine::alerts() const {
  std::vector<Alert> out;
  for (const GroupState& group : state_->groups)
    for (const RuleState& rule : group.rules)
      for (const auto& [labels, entry] : rule.active()) out.push_back(entry.alert);
  for (const auto& [context, rule] : state_->retired)
    for (const auto& [labels, entry] : rule.active()) out.push_back(entry.alert);
  out.insert(out.end(), state_->resolved.begin(), state_->resolved.end());
  return out;
}

milliseconds Engine::reach() const {
  milliseconds longest{0};
  for (const GroupState& group : state_->groups)
    for (const RuleState& rule : group.rules) longest = std::max(longest, rule.reach() + group.context.offset);
  return longest;
}

std::vector<SavedAlert> Engine::save() const {
  std::vector<SavedAlert> out;
  for (const GroupState& group : state_->groups)
    for (const RuleState& rule : group.rules) rule.save(group.context, out);
  return out;
}

void Engine::restore(std::span<const SavedAlert> saved, Now now) {
  for (const SavedAlert& one : saved)
    for (GroupState& group : state_->groups) {
      if (group.context.name != one.group) continue;
      const auto rule = std::find_if(group.rules.begin(), group.rules.end(), [&](const RuleState& r) { return r.rule().alert == one.rule; });
      if (rule == group.rules.end()) continue;
      rule->restore(one, group.context, now.wall);
      break;
    }
}

}  // namespace rdmend::rules
