// SPDX-License-Identifier: Apache-2.0
// One step's life: check, grant, write down, run, settle, verify, hold, undo.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "remedies/executor_state.hpp"

namespace rdmend::remedies {
namespace {

constexpr std::size_t kMostLines = 64;  // of the journal, for the targets of one step
constexpr milliseconds kFirstUndoRetry = seconds{10};
constexpr milliseconds kWriteDeadline = seconds{15};  // a disk may hang

std::string targets_text(const std::vector<Action::Target>& targets) {
  if (targets.empty()) return {};
  return targets.size() == 1 ? targets.front().text
                             : fmt::format("{} and {} more", targets.front().text, targets.size() - 1);
}

bool went_well(const Report& report) {
  return report.verdict == Verdict::started || report.verdict == Verdict::succeeded;
}

}  // namespace

Run* Executor::State::find(std::uint64_t id) {
  const auto at = runs.find(id);
  return at == runs.end() ? nullptr : at->second.get();
}

// Ends a step that will not be done. The same refusal of the same step is told once.
void Executor::State::refuse(Run& run, const std::string& reason,
                             std::map<std::string, std::string> figures) {
  auto& plan = plans.at(run.plan);
  const bool on_record = run.phase == Phase::writing;
  run.verdict = Verdict::refused;
  run.reason = reason;
  if (plan.said[run.step] != reason) {
    plan.said[run.step] = reason;
    run.said = true;
    say(run, plan, Verdict::refused, run.target, reason, std::move(figures));
  }
  end(run);
  if (on_record) {
    persist();
    put_marks(hold_downs, breaker);
  }
  step_over(plan);
}

void Executor::State::checked(Run& run, const std::string& refusal) {
  if (run.phase != Phase::checking) return;
  auto& plan = plans.at(run.plan);
  if (!refusal.empty()) return refuse(run, refusal);
  if (!plan.firing) return refuse(run, "the alert ended before anything was done");
  const auto targets = run.action->targets();
  run.target = targets_text(targets);
  if (!run.action->acts()) {
    run.granted = targets;
    return start(run);
  }
  if (breaker.is_open())
    return refuse(
        run, fmt::format("the breaker is open ({}); `rdmendctl breaker reset` closes it", breaker.why()));
  auto spent = budget;
  auto grants = grant(plan, targets, spent);
  if (grants.granted.empty()) {
    const auto& why =
        grants.refused.empty() ? std::string("there is nothing to act on") : grants.refused.front().second;
    return refuse(run, grants.refused.size() > 1
                           ? fmt::format("{}; so for all {} targets", why, grants.refused.size())
                           : why);
  }
  const auto objection = breaker_objects(grants.granted);
  if (mode() == config::Mode::observe)
    return objection.empty() ? dry_run(run, grants) : refuse(run, "the breaker would open: " + objection);
  if (journal.unread())
    return refuse(run, "what was decided before rdmend started is not known, so it is not done: " + journal.trouble());
  if (!objection.empty()) {
    breaker.open(objection);
    journal.put("breaker", objection);
    return refuse(run,
                  fmt::format("the breaker has opened: {}; `rdmendctl breaker reset` closes it", objection));
  }
  budget = std::move(spent);
  journal.put("budget", budget.save(now()));
  say_refused(run, plan, grants);
  run.granted = std::move(grants.granted);
  run.target = targets_text(run.granted);
  write_down(run);
}

Executor::State::Grant Executor::State::grant(const Plan& plan, const std::vector<Action::Target>& targets,
                                              Budget& from) {
  Grant out;
  for (const auto& target : targets) {
    const auto left = hold_downs.left(plan.alert.rule, target.key, now().wall);
    auto why = left.count() > 0 ? fmt::format("{} was acted on lately and is left alone until {}",
                                              target.text, format_timestamp(now().wall + left))
                                : from.take(target, now().mono);
    if (why.empty())
      out.granted.push_back(target);
    else
      out.refused.emplace_back(target, std::move(why));
  }
  return out;
}

std::string Executor::State::breaker_objects(const std::vector<Action::Target>& granted) {
  std::vector<std::string> keys;
  for (const auto& target : granted)
    if (target.is_qp) keys.push_back(target.key);
  if (keys.empty()) return {};
  return breaker.too_much(keys, host_targets(),
                          {settings.breaker_share, settings.breaker_least, settings.breaker_window},
                          now().mono);
}

std::size_t Executor::State::host_targets() const {
  std::size_t count = 0;
  for (const auto& device : environment.qps.devices())
    for (const auto& qp : environment.qps.latest(device).qps) {
      const auto state = static_cast<QpState>(qp.state);
      const bool alive_rc =
          static_cast<QpType>(qp.type) == QpType::rc && (state == QpState::rtr || state == QpState::rts);
      if (alive_rc && qp.kernel_owner.empty()) ++count;
    }
  return count;
}

void Executor::State::say_refused(const Run& run, const Plan& plan, const Grant& grants) {
  for (std::size_t i = 0; i < grants.refused.size() && i < kMostLines; ++i)
    say(run, plan, Verdict::refused, grants.refused[i].first.text, grants.refused[i].second, {});
  if (grants.refused.size() > kMostLines)
    say(run, plan, Verdict::refused, run.target,
        fmt::format("{} more targets got no token either", grants.refused.size() - kMostLines), {});
}

void Executor::State::dry_run(Run& run, const Grant& grants) {
  auto& plan = plans.at(run.plan);
  std::string all = "dry run";
  for (const auto& target : grants.granted) all += "\n" + target.text + target.intent;
  run.verdict = Verdict::dry_run;
  run.reason = "not done in mode observe";
  if (plan.said[run.step] != all) {
    plan.said[run.step] = std::move(all);
    run.said = true;
    for (std::size_t i = 0; i < grants.granted.size() && i < kMostLines; ++i)
      say(run, plan, Verdict::dry_run, grants.granted[i].text,
          "mode observe: would be done: " + grants.granted[i].intent, {});
    if (grants.granted.size() > kMostLines)
      say(run, plan, Verdict::dry_run, run.target,
          fmt::format("mode observe: so would {} more targets", grants.granted.size() - kMostLines), {});
    say_refused(run, plan, grants);
  }
  end(run);
  step_over(plan);
}

// What it will have changed, and that its targets were acted on, must be on disk before it changes anything.
void Executor::State::write_down(Run& run) {
  run.record = run.action->undo_record();
  set_phase(run, Phase::writing);
  run.timer = environment.reactor.after(kWriteDeadline, guarded(run.id, [this](Run& r) { written(r, false); }));
  auto held = hold_downs;
  auto counted = breaker;
  mark(run, held, counted);
  put_marks(held, counted);
  persist([this, id = run.id](bool durable) {
    if (auto* written_run = find(id)) written(*written_run, durable);
  });
}

void Executor::State::written(Run& run, bool durable) {
  if (run.phase != Phase::writing) return;
  run.timer.reset();
  if (!durable && !run.record.empty())
    return refuse(run, "its undo cannot be written down, so it is not done: " + journal.trouble());
  if (!plans.at(run.plan).firing) return refuse(run, "the alert ended before anything was done");
  if (mode() == config::Mode::observe) return refuse(run, "the mode became observe before anything was done");
  if (breaker.is_open())
    return refuse(
        run, fmt::format("the breaker is open ({}); `rdmendctl breaker reset` closes it", breaker.why()));
  start(run);
}

void Executor::State::mark(const Run& run, HoldDowns& held, Breaker& counted) const {
  std::vector<std::string> qps;
  for (const auto& target : run.granted) {
    held.acted(plans.at(run.plan).alert.rule, target.key, now().wall, settings.hold_down, settings.hold_down_max);
    if (target.is_qp) qps.push_back(target.key);
  }
  counted.acted(qps, now().mono);
}

void Executor::State::put_marks(const HoldDowns& held, const Breaker& counted) {
  journal.put("hold_downs", held.save());
  journal.put("breaker_window", counted.save(now()));
}

void Executor::State::start(Run& run) {
  set_phase(run, Phase::running);
  if (run.action->acts()) {
    mark(run, hold_downs, breaker);
    put_marks(hold_downs, breaker);
  }
  run.started = now().mono;
  run.action->run(run.granted, guarded(run.id, [this](Run& r, std::vector<Report> reports) {
                    ran(r, std::move(reports));
                  }));
}

// rdmend_remedy_seconds: from the start to the verdict.
void Executor::State::count_duration(const Run& run) {
  auto& duration = durations[run.spec.kind];
  duration.sum_seconds += std::chrono::duration<double>(now().mono - run.started).count();
  ++duration.count;
}

void Executor::State::ran(Run& run, std::vector<Report> reports) {
  if (run.phase != Phase::running) return;
  auto& plan = plans.at(run.plan);
  if (reports.empty()) reports.push_back({Verdict::failed, run.target, "nothing was done", {}});
  run.said = true;
  for (std::size_t i = 0; i < reports.size() && i < kMostLines; ++i)
    say(run, plan, reports[i].verdict, reports[i].target, reports[i].reason, reports[i].figures);
  const auto good = std::count_if(reports.begin(), reports.end(), went_well);
  if (reports.size() > kMostLines)
    say(run, plan, good > 0 ? Verdict::started : Verdict::failed, run.target,
        fmt::format("{} targets in all: {} done, {} not", reports.size(), good,
                    reports.size() - static_cast<std::size_t>(good)),
        {});
  const auto& telling = good > 0 ? *std::find_if(reports.begin(), reports.end(), went_well) : reports.front();
  run.verdict = telling.verdict;
  run.reason = telling.reason;
  plan.done.insert(run.step);
  plan.said.erase(run.step);
  run.record = run.action->undoable() ? run.action->undo_record() : std::string();
  persist();
  set_phase(run, Phase::settling);
  if (good > 0 && run.action->verifiable() && run.undo_why.empty()) {
    run.timer = environment.reactor.after(settings.settle, guarded(run.id, [this](Run& r) { settled(r); }));
    return;
  }
  count_duration(run);
  step_over(plan);
  if (run.action->undoable())
    undo(run, run.undo_why.empty() ? "it could not be done" : run.undo_why);
  else
    end(run);
}

void Executor::State::settled(Run& run) {
  run.action->verify(guarded(run.id, [this](Run& r, Report report) {
    if (r.phase == Phase::settling) verified(r, std::move(report));
  }));
}

void Executor::State::verified(Run& run, Report report) {
  auto& plan = plans.at(run.plan);
  run.timer.reset();
  count_duration(run);
  run.verdict = report.verdict;
  run.reason = report.reason;
  run.verified = report.verdict == Verdict::succeeded;
  say(run, plan, report.verdict, run.target, report.reason, std::move(report.figures));
  plan.step = run.step + 1;
  if (!run.action->undoable()) {
    end(run);
  } else if (run.verified) {
    set_phase(run, Phase::held);
    persist();
  } else if (!plan.firing) {
    return undo(run, "it did not help");  // the plan may end with it
  } else {
    undo(run, "it did not help");
  }
  plan.firing ? proceed(plan) : arm_undo(plan);
}

void Executor::State::undo(Run& run, std::string why) {
  run.undo_why = std::move(why);
  if (run.phase == Phase::running) return;  // ran() will see to it
  auto& plan = plans.at(run.plan);
  const bool cut_short = run.phase == Phase::settling && run.verdict == Verdict::started;
  run.timer.reset();
  set_phase(run, Phase::undoing);
  if (cut_short) step_over(plan);
  give_back(run);
}

void Executor::State::give_back(Run& run) {
  run.action->undo(guarded(run.id, [this](Run& r, const Report& report) { undone(r, report); }));
}

void Executor::State::undone(Run& run, const Report& report) {
  auto& plan = plans.at(run.plan);
  run.record = run.action->undoable() ? run.action->undo_record() : std::string();
  const bool first_try = run.undo_retry.count() == 0;
  if (report.verdict == Verdict::undone) {
    say(run, plan, Verdict::undone, run.target, fmt::format("{}: {}", run.undo_why, report.reason),
        report.figures);
    if (run.verified) plan.undone_at = now().wall;
    // "ineffective" and "failed" say more about the action than that it was given back too.
    if (run.verdict == Verdict::succeeded || run.verdict == Verdict::started) run.verdict = Verdict::undone;
    run.reason = fmt::format("{}: {}", run.undo_why, report.reason);
    end(run);
  } else {
    if (report.reason != run.last_undo_fault)
      say(run, plan, Verdict::undo_failed, run.target, report.reason, report.figures);
    run.last_undo_fault = run.reason = report.reason;
    run.undo_retry = first_try ? kFirstUndoRetry : std::min(run.undo_retry * 2, settings.hold_down_max);
    run.timer = environment.reactor.after(run.undo_retry, guarded(run.id, [this](Run& r) { give_back(r); }));
  }
  persist();
  if (plan.firing && plan.waiting_for_undo) return proceed(plan);
  arm_undo(plan);
}

void Executor::State::persist(std::function<void(bool)> done) {
  std::vector<DueUndo> due;
  for (const auto& [id, run] : runs) {
    if (run->record.empty()) continue;
    const auto& plan = plans.at(run->plan);
    due.push_back({id, plan.alert.rule, plan.alert.group, plan.alert.labels, plan.alert.value, run->spec,
                   run->target, run->record, run->verified, run->began,
                   plan.firing ? Timestamp{} : plan.inactive_since, hold_of(plan)});
  }
  auto text = encode(due);
  if (!done) {
    journal.put("undo", std::move(text));
    return;
  }
  journal.put("undo", std::move(text),
              [token = std::weak_ptr<bool>(alive), done = std::move(done)](bool durable) {
                if (!token.expired()) done(durable);
              });
}

}  // namespace rdmend::remedies
