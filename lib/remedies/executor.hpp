// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "journal/journal.hpp"
#include "model/decision.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::remedies {

// One action as the API and `rdmendctl remedies` show it.
struct ActionStatus {
  std::uint64_t id = 0;
  std::string rule, kind, description, target;
  Labels alert;
  std::string phase;  // checking, running, settling, held, undoing, ended
  Verdict verdict = Verdict::started;
  std::string reason;
  Timestamp began{}, changed{};
  bool undoable = false;
};

// Decides, within mode, allow list, budgets, hold-downs and the breaker, which step of which alert's remedy
// runs now; follows each action through check, run, settle, verify, hold and undo; escalates to the next
// step; writes the journal. One thread.
class Executor {
 public:
  Executor(const Environment& environment, journal::Journal& journal, const config::Config& config);
  ~Executor();

  void reconfigure(const config::Config& config);
  // The alerting rules that are loaded now: what was changed for any other rule is given back at once.
  void rules_loaded(std::span<const std::string> rules);
  // Undoes what a former life left due and adopts the rest with its hold. Once, after the first QP dumps.
  // `active`: the alerts as the rules restored them; a firing one keeps what was done for it, and its remedy
  // goes on.
  void resume(std::span<const Alert> active = {});
  void on_decisions(std::span<const Decision> decisions, Now now);

  // The operator's brake. `forever` when no duration is given.
  void set_mode(config::Mode mode, std::optional<milliseconds> duration, Now now);
  [[nodiscard]] config::Mode mode() const;
  [[nodiscard]] std::string mode_text(Now now) const;  // "act", "observe (operator, 42m left)"
  Result<void> undo(std::uint64_t action, Now now);
  [[nodiscard]] bool breaker_open() const;
  [[nodiscard]] std::string breaker_text() const;
  void reset_breaker(Now now);

  [[nodiscard]] std::vector<ActionStatus> actions() const;
  // rdmend_remedies_total{action,outcome}, every known pair, from zero; rdmend_remedy_seconds sums.
  struct Count {
    std::string kind;
    Verdict verdict;
    std::uint64_t count = 0;
  };
  struct Duration {
    std::string kind;
    double sum_seconds = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::vector<Count> counts() const;
  [[nodiscard]] std::vector<Duration> durations() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::remedies
