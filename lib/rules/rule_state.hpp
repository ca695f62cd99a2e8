// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rules/engine.hpp"

// What the engine keeps of one rule, inside this room only.
namespace rdmend::rules {

struct ActiveAlert {
  Alert alert;
  Timestamp kept_until{};  // a restored firing alert is not resolved before this
};

struct WaitingAlert {
  milliseconds spent{0};  // of the `for`, before the restart
  Timestamp until{};      // then it is forgotten
};

// What one evaluation wants written and told.
struct Evaluation {
  std::vector<std::pair<Labels, double>> series;
  std::vector<Decision> decisions;
};

// Of a group, what its rules need.
struct GroupContext {
  std::string name, file;
  milliseconds interval{0};
  milliseconds offset{0};
  std::size_t limit = 0;
};

// Sets back by so much what is a time at all.
void set_back(Timestamp& at, milliseconds by);
void set_back(Alert& alert, milliseconds by);

class RuleState {
 public:
  explicit RuleState(Rule rule);

  // Evaluates at `at` and writes what comes of it to `store`: results, and staleness markers for series that vanished. The
  // changes of state go to `decisions`, the series written to `written` (null: nobody asks).
  void run(const GroupContext& group, const EngineOptions& options, store::Store& store, Timestamp at,
           std::vector<Decision>& decisions, std::vector<Labels>* written);
  // Does a selector of the expression match one of these series?
  [[nodiscard]] bool reads(std::span<const Labels> series) const;

  void set_back(milliseconds by);
  // The former life of the same rule, before a reload.
  void inherit(RuleState& old);
  [[nodiscard]] bool inherited() const { return inherited_; }
  // Ends everything: the rule is no more.
  void retire(const GroupContext& group, store::Store& store, Timestamp at, std::vector<Decision>& decisions);
  void restore(const SavedAlert& saved, const GroupContext& group, Timestamp now);
  void save(const GroupContext& group, std::vector<SavedAlert>& out) const;

  [[nodiscard]] const Rule& rule() const { return rule_; }
  [[nodiscard]] const std::string& name() const { return rule_.alert.empty() ? rule_.record : rule_.alert; }
  [[nodiscard]] std::string identity() const;  // kind, name and labels as written
  [[nodiscard]] RuleStatus status(const GroupContext& group) const;
  std::optional<HealthChange> health_change(const GroupContext& group);
  [[nodiscard]] const std::map<Labels, ActiveAlert>& active() const { return active_; }
  [[nodiscard]] milliseconds reach() const { return reach_; }

 private:
  Result<Evaluation> evaluate(const GroupContext& group, const EngineOptions& options, const store::Store& store, Timestamp at);
  Result<Evaluation> record(const promql::Vector& vector, const GroupContext& group) const;
  Result<Evaluation> alert(const promql::Vector& vector, const GroupContext& group, const EngineOptions& options, Timestamp at);
  Result<std::map<Labels, Alert>> expand(const promql::Vector& vector, const GroupContext& group, const EngineOptions& options, Timestamp at) const;
  void adopt(std::map<Labels, Alert>&& fresh, const EngineOptions& options, Timestamp at, std::map<Labels, AlertState>& before);
  void forget_all(Timestamp at, const std::map<Labels, AlertState>& before);
  bool advance(ActiveAlert& entry, bool holds, Timestamp at) const;
  // How long an alert that was restored goes on firing at most while its expression does not hold.
  [[nodiscard]] milliseconds kept_after_restart(milliseconds interval) const;

  Rule rule_;
  std::vector<std::vector<store::Matcher>> selectors_;
  milliseconds reach_{0};
  std::map<Labels, ActiveAlert> active_;  // resolved ones too, for as long as they are told
  std::map<Labels, WaitingAlert> waiting_;
  std::set<Labels> previous_;  // series of the last evaluation
  std::vector<Decision> forgotten_;  // by the limit, still to be told
  std::string last_error_;
  bool told_failing_ = false;  // by health_change()
  bool evaluated_ = false;
  bool inherited_ = false;
  Timestamp last_{};
  nanoseconds took_{0};
  std::uint64_t evaluations_ = 0, failures_ = 0;
};

}  // namespace rdmend::rules
