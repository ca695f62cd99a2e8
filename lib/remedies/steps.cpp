// SPDX-License-Identifier: Apache-2.0
// Alerts, and which step of their remedy is next.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "remedies/executor_state.hpp"

namespace rdmend::remedies {
namespace {

std::string key_of(const Alert& alert) {
  return fmt::format("{}\n{}\n{}", alert.group, alert.rule, alert.labels.text());
}

bool same_step(const RemedySpec& a, const RemedySpec& b) {
  return a.kind == b.kind && std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                                        [](const RemedyParam& x, const RemedyParam& y) {
                                          return x.name == y.name && x.values == y.values;
                                        });
}

}  // namespace

Plan& Executor::State::plan_of(const Alert& alert) {
  auto key = key_of(alert);
  auto& plan = plans[key];
  if (plan.key.empty()) {
    plan.key = std::move(key);
    plan.alert = alert;
  }
  return plan;
}

std::shared_ptr<const Ladder> Executor::State::ladder_of(
    const std::shared_ptr<const std::vector<RemedySpec>>& specs) {
  auto& ladder = ladders[specs.get()];
  if (ladder) return ladder;
  auto made = std::make_shared<Ladder>();
  made->specs = specs;
  Diagnostics diagnostics;
  for (const auto& spec : *specs) made->steps.push_back(compile(spec, diagnostics));
  made->fault = diagnostics.text();
  return ladder = std::move(made);
}

milliseconds Executor::State::hold_of(const Plan& plan) const {
  return settings.hold * (1 << plan.doublings);
}

bool Executor::State::allows(std::string_view kind) const {
  return std::find(settings.allow.begin(), settings.allow.end(), kind) != settings.allow.end();
}

void Executor::State::foresee(const Alert& alert) {
  if (!alert.remedy || mode() == config::Mode::observe) return;
  for (const auto& step : ladder_of(alert.remedy)->steps)
    if (step && allows(step->kind())) step->foresee(alert, environment);
}

void Executor::State::fire(const Alert& alert) {
  if (!alert.remedy || alert.remedy->empty()) return;
  auto& plan = plan_of(alert);
  plan.alert = alert;
  if (plan.firing) return;
  const bool giving_back = std::any_of(runs.begin(), runs.end(), [&](const auto& item) {
    return item.second->plan == plan.key && item.second->phase == Phase::undoing && item.second->verified;
  });
  const bool within_hold = plan.undone_at != Timestamp{} && now().wall - plan.undone_at <= hold_of(plan);
  if (within_hold || giving_back)
    plan.doublings = std::min(plan.doublings + 1, kMostDoublings);
  else if (plan.undone_at != Timestamp{})
    plan.doublings = 0;
  plan.firing = true;
  plan.undone_at = plan.inactive_since = {};
  plan.undo_timer.reset();
  plan.ladder = ladder_of(alert.remedy);
  plan.step = 0;
  plan.done.clear();
  plan.said.clear();
  plan.retry = settings.hold_down;
  // What is still held from the last time has not to be done again.
  bool holds = false;
  for (auto& item : runs) {
    auto& run = *item.second;
    if (run.plan != plan.key) continue;
    if (run.phase == Phase::running || run.phase == Phase::settling) plan.done.insert(run.step);
    if (run.phase != Phase::held || !run.verified) continue;
    const auto& specs = *plan.ladder->specs;
    const auto at = std::find_if(specs.begin(), specs.end(),
                                 [&](const RemedySpec& spec) { return same_step(spec, run.spec); });
    if (at == specs.end()) continue;
    run.step = static_cast<std::size_t>(at - specs.begin());
    plan.done.insert(run.step);
    holds = true;
  }
  if (holds) persist();
  proceed(plan);
}

void Executor::State::resolve(const Alert& alert) {
  const auto at = plans.find(key_of(alert));
  if (at == plans.end() || !at->second.firing) return;
  auto& plan = at->second;
  plan.firing = false;
  plan.inactive_since = now().wall;
  plan.step_timer.reset();
  plan.waiting_for_undo = false;
  const bool has_runs =
      std::any_of(runs.begin(), runs.end(), [&](const auto& item) { return item.second->plan == plan.key; });
  if (has_runs) persist();
  arm_undo(plan);
}

// Is a step of the plan on its way to its verdict?
bool Executor::State::begins_under_way(const Plan& plan) const {
  return std::any_of(runs.begin(), runs.end(), [&](const auto& item) {
    const auto& run = *item.second;
    return run.plan == plan.key && run.phase != Phase::held && run.phase != Phase::undoing;
  });
}

void Executor::State::proceed(Plan& plan) {
  if (!plan.firing || begins_under_way(plan)) return;
  plan.step_timer.reset();
  // The first attempt to give something back goes before the next step; one that keeps failing does not stop
  // the ladder.
  plan.waiting_for_undo = std::any_of(runs.begin(), runs.end(), [&](const auto& item) {
    const auto& run = *item.second;
    return run.plan == plan.key && run.phase == Phase::undoing && run.undo_retry.count() == 0;
  });
  if (plan.waiting_for_undo) return;
  if (plan.step >= plan.ladder->steps.size()) return at_end(plan);
  if (plan.done.contains(plan.step)) return step_over(plan);
  begin(plan, plan.step);
}

// The next step runs only if the alert still fires after `settle`.
void Executor::State::step_over(Plan& plan) {
  if (!plan.firing) return arm_undo(plan);
  plan.step_timer = environment.reactor.after(settings.settle, [this, &plan] {
    ++plan.step;
    proceed(plan);
  });
}

// Steps that were refused are tried again, ever more seldom, while the alert fires; those that ran are not.
void Executor::State::at_end(Plan& plan) {
  if (plan.done.size() >= plan.ladder->steps.size()) return;
  plan.step_timer = environment.reactor.after(plan.retry, [this, &plan] { retry(plan); });
  plan.retry = std::min(plan.retry * 2, settings.hold_down_max);
}

void Executor::State::retry(Plan& plan) {
  plan.step = 0;
  while (plan.step < plan.ladder->steps.size() && plan.done.contains(plan.step)) ++plan.step;
  proceed(plan);
}

// What was refused may be allowed now: the mode, the configuration or the breaker changed.
void Executor::State::try_again() {
  for (auto& [key, plan] : plans) {
    if (!plan.firing || plan.said.empty() || begins_under_way(plan)) continue;
    plan.retry = settings.hold_down;
    retry(plan);
  }
}

void Executor::State::begin(Plan& plan, std::size_t step) {
  auto made = std::make_unique<Run>();
  auto& run = *made;
  run.id = journal.reserve_id();
  run.plan = plan.key;
  run.step = step;
  run.spec = (*plan.ladder->specs)[step];
  run.began = run.changed = now().wall;
  run.target =
      std::string(plan.alert.labels.get("device")) + "/" + std::string(plan.alert.labels.get("port"));
  runs[run.id] = std::move(made);
  const auto* remedy = plan.ladder->steps[step].get();
  if (remedy == nullptr) return refuse(run, "the rule's remedy is faulty: " + plan.ladder->fault);
  run.description = remedy->describe();
  if (!allows(run.spec.kind))
    return refuse(run, fmt::format("remedies.allow does not list {}", run.spec.kind));
  environment.observing = mode() == config::Mode::observe;
  run.action = remedy->begin(plan.alert, environment);
  if (run.action->acts() && breaker.is_open())
    return refuse(
        run, fmt::format("the breaker is open ({}); `rdmendctl breaker reset` closes it", breaker.why()));
  run.action->check(guarded(run.id, [this](Run& r, const std::string& refusal) { checked(r, refusal); }));
}

// Gives back what is held when the alert has been inactive for `hold`, and forgets the plan when nothing is
// left of it.
void Executor::State::arm_undo(Plan& plan) {
  if (plan.firing) return;
  std::vector<std::uint64_t> held;
  for (const auto& [id, run] : runs)
    if (run->plan == plan.key && run->phase == Phase::held)
      held.insert(held.begin(), id);  // the last one first
  if (held.empty()) return drop_idle(plan.key);
  const auto due = std::max(plan.inactive_since + hold_of(plan) - now().wall, milliseconds{0});
  plan.undo_timer = environment.reactor.after(
      due,
      [this, held, why = fmt::format("the alert has been inactive for {}", format_duration(hold_of(plan)))] {
        for (const auto id : held)
          if (auto* run = find(id); run != nullptr && run->phase == Phase::held) undo(*run, why);
      });
}

void Executor::State::drop_idle(const std::string& key) {
  const auto at = plans.find(key);
  if (at == plans.end() || at->second.firing) return;
  auto& plan = at->second;
  if (std::any_of(runs.begin(), runs.end(), [&](const auto& item) { return item.second->plan == key; }))
    return;
  // An alert that fires again soon after the undo is known by its plan.
  const auto remembered =
      plan.undone_at == Timestamp{} ? milliseconds{0} : plan.undone_at + hold_of(plan) - now().wall;
  if (remembered.count() > 0)
    plan.undo_timer = environment.reactor.after(remembered, [this, key] { drop_idle(std::string(key)); });
  else
    plans.erase(at);
}

}  // namespace rdmend::remedies
