// SPDX-License-Identifier: Apache-2.0
#include "remedies/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/text.hpp"
#include "remedies/executor_state.hpp"

namespace rdmend::remedies {
namespace {
constexpr int kVerdicts = static_cast<int>(Verdict::undo_failed) + 1;

const char* mode_name(config::Mode mode) {
  return mode == config::Mode::act ? "act" : "observe";
}

Budget::Limits limits_of(const config::Config& config) {
  return {config.remedies.qp, config.remedies.process, config.remedies.host};
}

ActionStatus status_of(const Run& run, const Plan& plan) {
  ActionStatus status;
  status.id = run.id;
  status.rule = plan.alert.rule;
  status.kind = run.spec.kind;
  status.description = run.description;
  status.target = run.target;
  status.alert = plan.alert.labels;
  status.phase = phase_name(run.phase);
  status.verdict = run.verdict;
  status.reason = run.reason;
  status.began = run.began;
  status.changed = run.changed;
  status.undoable = run.phase != Phase::ended && run.action && run.action->undoable();
  return status;
}

// Minutes are enough above one, and never "0s left".
std::string left_text(milliseconds left) {
  const auto step = left > std::chrono::minutes{1} ? milliseconds{60'000} : milliseconds{1'000};
  return format_duration(std::max<milliseconds>((left + step - milliseconds{1}) / step * step, seconds{1}));
}

}  // namespace

const char* phase_name(Phase phase) {
  static constexpr std::array kNames{"checking", "checking", "running", "settling",
                                     "held",     "undoing",  "ended"};
  return kNames[static_cast<std::size_t>(phase)];
}

Executor::State::State(const Environment& e, journal::Journal& j, const config::Config& c)
    : environment(e), journal(j), settings(c.remedies), configured_mode(c.mode), budget(limits_of(c)) {
  environment.units_allowed = settings.units;
  for (const auto& row : kinds()) {
    for (int i = 0; i < kVerdicts; ++i) counts[{std::string(row.kind), static_cast<Verdict>(i)}] = 0;
    durations[std::string(row.kind)].kind = row.kind;
  }
  unread = journal.unread();
  load();
}

// What an operator or a former life decided holds from the start, before the first decision.
void Executor::State::load() {
  hold_downs.restore(journal.get("hold_downs"), now().wall, settings.hold_down_max);
  budget.restore(journal.get("budget"), now());
  breaker.restore(journal.get("breaker_window"), now());
  if (auto why = journal.get("breaker"); !why.empty()) breaker.open(std::move(why));
  const auto saved = nlohmann::json::parse(journal.get("mode"), nullptr, false);
  if (!saved.is_object() || !saved.contains("mode") || !saved["mode"].is_string()) return;
  override_.emplace(
      Override{saved["mode"] == "act" ? config::Mode::act : config::Mode::observe, std::nullopt, nullptr});
  if (!saved.contains("until") || !saved["until"].is_number_integer()) return;
  override_->until = Timestamp{milliseconds{saved["until"].get<std::int64_t>()}};
  if (*override_->until <= now().wall)
    override_.reset();
  else
    override_->timer =
        environment.reactor.after(*override_->until - now().wall, [this] { override_ended(); });
}

void Executor::State::override_ended() {
  override_.reset();
  save_override();
  operator_line("mode", fmt::format("the operator's override has ended: mode {} as configured",
                                    mode_name(configured_mode)));
  try_again();
}

void Executor::State::save_override() {
  nlohmann::json saved = nlohmann::json::object();
  if (override_) {
    saved["mode"] = mode_name(override_->mode);
    if (override_->until) saved["until"] = override_->until->time_since_epoch().count();
  }
  journal.put("mode", override_ ? saved.dump() : std::string());
}

void Executor::State::operator_line(std::string kind, std::string reason) {
  log::info("remedies", reason);
  JournalEntry entry;
  entry.at = now().wall;
  entry.kind = std::move(kind);
  entry.target = "host";
  entry.verdict = Verdict::succeeded;
  entry.reason = std::move(reason);
  journal.append(std::move(entry));
}

// The one place where a decision or an outcome becomes known: journal, audit line, counters, status.
void Executor::State::say(const Run& run, const Plan& plan, Verdict verdict, const std::string& target,
                          std::string reason, std::map<std::string, std::string> figures) {
  log::info("remedies", reason,
            {{"rule", plan.alert.rule},
             {"action", std::to_string(run.id)},
             {"kind", run.spec.kind},
             {"target", target},
             {"verdict", verdict_name(verdict)}});
  ++counts[{run.spec.kind, verdict}];
  JournalEntry entry;
  entry.action = run.id;
  entry.at = now().wall;
  entry.rule = plan.alert.rule;
  entry.alert = plan.alert.labels;
  entry.value = plan.alert.value;
  entry.kind = run.spec.kind;
  entry.target = target;
  entry.verdict = verdict;
  entry.reason = std::move(reason);
  entry.figures = std::move(figures);
  journal.append(std::move(entry));
}

void Executor::State::adopt(const DueUndo& due) {
  Alert alert;
  alert.rule = due.rule;
  alert.group = due.group;
  alert.labels = due.alert;
  alert.value = due.value;
  auto& plan = plan_of(alert);
  auto run = std::make_unique<Run>();
  run->id = due.action;
  run->plan = plan.key;
  run->adopted = true;
  run->spec = due.spec;
  run->target = due.target;
  run->record = due.record;
  run->began = due.began;
  run->verified = due.verified;
  run->changed = now().wall;
  run->said = true;
  Diagnostics ignored;  // the rule file may have changed since; the record is what counts
  run->remedy = compile(due.spec, ignored);
  if (run->remedy) run->action = run->remedy->resume(due.record, environment);
  if (!run->action) {
    say(*run, plan, Verdict::undo_failed, due.target,
        "its undo, written down by a former rdmend, cannot be read", {});
    return;
  }
  run->description = run->remedy->describe();
  run->reason = "done by a former rdmend";
  run->verdict = due.verified ? Verdict::succeeded : Verdict::started;
  run->phase = Phase::held;
  // An alert that nobody says is firing is one that ended while we were away, at the latest now.
  plan.inactive_since = due.inactive_since == Timestamp{} ? now().wall : due.inactive_since;
  while (hold_of(plan) < due.hold && plan.doublings < kMostDoublings) ++plan.doublings;
  runs[run->id] = std::move(run);
}

Executor::Executor(const Environment& environment, journal::Journal& journal, const config::Config& config)
    : state_(std::make_unique<State>(environment, journal, config)) {}

Executor::~Executor() = default;

void Executor::reconfigure(const config::Config& config) {
  state_->settings = config.remedies;
  state_->environment.units_allowed = config.remedies.units;
  state_->configured_mode = config.mode;
  state_->budget.set_limits(limits_of(config));
  state_->try_again();
}

void Executor::rules_loaded(std::span<const std::string> rules) {
  std::vector<std::uint64_t> orphans;
  for (const auto& [id, run] : state_->runs) {
    const auto& rule = state_->plans.at(run->plan).alert.rule;
    if (run->action->undoable() && std::find(rules.begin(), rules.end(), rule) == rules.end())
      orphans.push_back(id);
  }
  for (const auto id : orphans)
    if (auto* run = state_->find(id)) state_->undo(*run, "its rule is no longer loaded");
  // Rules are loaded anew at each reload: what was compiled for lists that no alert carries any more is let
  // go.
  std::erase_if(state_->ladders, [](const auto& item) { return item.second.use_count() == 1; });
}

void Executor::resume(std::span<const Alert> active) {
  auto& state = *state_;
  if (std::exchange(state.unread, false)) state.load();  // now it can be
  std::string fault;
  const auto due = decode_due_undos(state.journal.get("undo"), fault);
  if (!fault.empty()) log::error("remedies", fault);
  for (const auto& one : due) state.adopt(one);
  for (const auto& one : due)
    if (auto* run = state.find(one.action); run != nullptr && !one.verified)
      state.undo(*run, "rdmend ended before it was verified");
  for (const auto& alert : active)
    if (alert.state == AlertState::firing) state.fire(alert);
  state.persist();
  std::vector<std::string> keys;
  for (const auto& [key, plan] : state.plans) keys.push_back(key);
  for (const auto& key : keys)
    if (const auto at = state.plans.find(key); at != state.plans.end()) state.arm_undo(at->second);
}

void Executor::on_decisions(std::span<const Decision> decisions, Now) {
  for (const auto& decision : decisions) {
    if (decision.alert.state == AlertState::firing)
      state_->fire(decision.alert);
    else
      state_->resolve(decision.alert);
    if (decision.alert.state == AlertState::pending) state_->foresee(decision.alert);
  }
}

void Executor::set_mode(config::Mode mode, std::optional<milliseconds> duration, Now now) {
  auto& state = *state_;
  state.override_.emplace(State::Override{mode, std::nullopt, nullptr});
  if (duration) {
    state.override_->until = now.wall + *duration;
    state.override_->timer = state.environment.reactor.after(*duration, [&state] { state.override_ended(); });
  }
  state.save_override();
  state.operator_line("mode", fmt::format("mode {} by the operator{}", mode_name(mode),
                                          duration ? " for " + format_duration(*duration) : ""));
  state.try_again();
}

config::Mode Executor::mode() const {
  return state_->mode();
}

std::string Executor::mode_text(Now now) const {
  const auto& current = state_->override_;
  if (!current) return mode_name(state_->configured_mode);
  if (!current->until) return fmt::format("{} (operator)", mode_name(current->mode));
  return fmt::format("{} (operator, {} left)", mode_name(current->mode),
                     left_text(*current->until - now.wall));
}

Result<void> Executor::undo(std::uint64_t action, Now) {
  auto* run = state_->find(action);
  if (run == nullptr) {
    const auto& ended = state_->ended;
    const auto at = std::find_if(ended.begin(), ended.end(),
                                 [&](const ActionStatus& status) { return status.id == action; });
    if (at == ended.end()) return Error{fmt::format("there is no action {}", action)};
    return Error{fmt::format("action {} ({}) has ended ({}): nothing is left to undo", action, at->kind,
                             verdict_name(at->verdict))};
  }
  if (run->phase == Phase::undoing) return Error{fmt::format("action {} is being undone already", action)};
  if (!run->action->undoable())
    return Error{
        fmt::format("action {} ({}) has changed nothing that could be undone", action, run->spec.kind)};
  if (run->phase == Phase::running)
    return Error{fmt::format("action {} is at work this moment: ask again", action)};
  state_->undo(*run, "the operator asked for it");
  return {};
}

bool Executor::breaker_open() const {
  return state_->breaker.is_open();
}

std::string Executor::breaker_text() const {
  return state_->breaker.is_open() ? "open: " + state_->breaker.why() : "closed";
}

void Executor::reset_breaker(Now) {
  const bool was_open = state_->breaker.is_open();
  state_->breaker.reset();
  state_->journal.put("breaker", "");
  state_->journal.put("breaker_window", "");
  if (was_open) state_->operator_line("breaker", "breaker reset by the operator");
  state_->try_again();
}

std::vector<ActionStatus> Executor::actions() const {
  std::vector<ActionStatus> all(state_->ended.begin(), state_->ended.end());
  for (const auto& [id, run] : state_->runs) all.push_back(status_of(*run, state_->plans.at(run->plan)));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id > b.id; });
  return all;
}

std::vector<Executor::Count> Executor::counts() const {
  std::vector<Count> all;
  for (const auto& [key, count] : state_->counts) all.push_back({key.first, key.second, count});
  return all;
}

std::vector<Executor::Duration> Executor::durations() const {
  std::vector<Duration> all;
  for (const auto& [kind, duration] : state_->durations) all.push_back(duration);
  return all;
}

void Executor::State::end(Run& run) {
  constexpr std::size_t kMostEnded = 256;
  const auto id = run.id;
  set_phase(run, Phase::ended);
  auto& plan = plans.at(run.plan);
  if (run.said) {
    ended.push_back(status_of(run, plan));
    if (ended.size() > kMostEnded) ended.pop_front();
  }
  const auto at = runs.find(id);
  graveyard.push_back(std::move(at->second));
  runs.erase(at);
  environment.reactor.post([this, token = std::weak_ptr<bool>(alive), key = plan.key] {
    if (token.expired()) return;
    graveyard.clear();
    drop_idle(key);
  });
}

}  // namespace rdmend::remedies
