// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "model/decision.hpp"
#include "rules/rule_file.hpp"
#include "store/store.hpp"

namespace rdmend::rules {

// How a rule did at its last evaluation, for /api/v1/rules and rdmend_rule_*.
struct RuleStatus {
  std::string group, file, name;
  bool alerting = false;
  std::string query;
  milliseconds hold{0}, keep_firing_for{0}, interval{0};
  Labels labels, annotations;  // as written (templates unexpanded)
  std::string health = "unknown";  // "ok", "err"
  std::string last_error;
  Timestamp last_evaluation{};
  nanoseconds evaluation_time{0};
  std::uint64_t evaluations = 0, failures = 0;
  std::vector<Alert> alerts;  // active ones
};

// A rule that begins to fail at its evaluation, or is well again.
struct HealthChange {
  std::string group, file, rule;
  std::string error;  // empty: it is well again
};

// `for` state that outlives a restart, as Prometheus keeps it in ALERTS_FOR_STATE.
struct SavedAlert {
  std::string group, rule;
  Labels labels;
  AlertState state = AlertState::inactive;
  Timestamp active_at{}, fired_at{}, keep_firing_since{};
  Timestamp saved_at{};  // its rule's last evaluation before it was saved; zero: unknown
  double value = 0;
  Labels annotations;
};

struct EngineOptions {
  milliseconds default_interval{15'000};
  Labels external_labels;
  std::string external_url;
  promql::Limits limits;
  milliseconds resolved_retention = std::chrono::minutes{15};
  // A restored `for` at least this long does not end sooner than this after the restart (Prometheus' grace period).
  milliseconds for_grace = std::chrono::minutes{10};
};

// Evaluates rule groups against the store and keeps the alerts' states, as Prometheus' rule manager does. A group is
// evaluated at the whole multiples of its interval; Prometheus shifts each group by a hash of its name to spread the load of
// many, which one host's few rules do not need. One thread: the loop's.
class Engine {
 public:
  Engine(store::Store& store, EngineOptions options);
  ~Engine();

  // Replaces the rules. Alerts whose group, rule and labels are the same keep their state; others of removed rules resolve
  // (the Decisions say so at the next step).
  void load(std::vector<Group> groups, EngineOptions options, Now now);
  // Evaluates every group that is due. Records results, ALERTS and ALERTS_FOR_STATE in the store. Returns the changes of state.
  std::vector<Decision> step(Now now);
  // Series have just changed outside the polling rhythm: evaluates at once the rules that read one of them (by metric name
  // and matchers). Does not move the groups' schedule.
  std::vector<Decision> run_readers_of(std::span<const Labels> changed, Now now);
  // The wall clock was set back by this much: so is all that the engine knows the time of. Alerts stay as old as they are.
  void set_back(milliseconds by);
  // When step() has next something to do.
  [[nodiscard]] Instant next_due() const;

  [[nodiscard]] std::vector<RuleStatus> status() const;
  // The rules whose health is not what the last call said; before the first call all are well.
  std::vector<HealthChange> health_changes();
  // Every alert that is pending or firing, and those resolved less than resolved_retention ago.
  [[nodiscard]] std::vector<Alert> alerts() const;
  // The longest reach of the loaded rules: what the store must keep.
  [[nodiscard]] milliseconds reach() const;

  [[nodiscard]] std::vector<SavedAlert> save() const;
  // Gives loaded rules their state back. As with Prometheus a `for` timer does not count the time it was down. An alert that
  // was firing stays so until its expression has seen its whole reach again, for the store begins empty.
  void restore(std::span<const SavedAlert> saved, Now now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::rules
