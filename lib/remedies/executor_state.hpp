// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inside of the executor; included by executor.cpp, steps.cpp and runs.cpp alone.
#include <deque>
#include <map>
#include <set>

#include "remedies/breaker.hpp"
#include "remedies/budget.hpp"
#include "remedies/executor.hpp"
#include "remedies/hold_downs.hpp"
#include "remedies/undo_document.hpp"

namespace rdmend::remedies {

inline constexpr unsigned kMostDoublings = 6;  // of `hold`: 10 minutes become 10 hours 40 minutes at most

// A rule's remedy list, compiled.
struct Ladder {
  std::shared_ptr<const std::vector<RemedySpec>> specs;
  std::vector<std::unique_ptr<Remedy>> steps;
  std::string fault;
};

enum class Phase { checking, writing, running, settling, held, undoing, ended };
const char* phase_name(Phase phase);

// One step at work for one alert.
struct Run {
  std::uint64_t id = 0;
  std::string plan;
  std::size_t step = 0;
  bool adopted = false;  // from a former life: no step of the ladder's
  RemedySpec spec;
  std::string description;
  std::unique_ptr<Remedy> remedy;  // of an adopted one, else the ladder's
  std::unique_ptr<Action> action;
  Phase phase = Phase::checking;
  Verdict verdict = Verdict::started;
  std::string reason, target, record;
  std::vector<Action::Target> granted;
  Timestamp began{}, changed{};
  Instant started{};  // run() was called
  bool verified = false;
  bool said = false;     // has a line in the journal
  std::string undo_why;  // why it is given back
  milliseconds undo_retry{0};
  std::string last_undo_fault;
  Reactor::Handle timer;
};

// One alert and how far its remedy has come.
struct Plan {
  std::string key;
  Alert alert;
  bool firing = false;
  Timestamp inactive_since{};
  std::shared_ptr<const Ladder> ladder;
  std::size_t step = 0;        // that is under way or next
  std::set<std::size_t> done;  // steps that ran since it fires; others were refused and are tried again
  std::map<std::size_t, std::string> said;  // a step's last refusal, so that each is told once
  milliseconds retry{0};                    // until the refused steps are tried again, doubling
  bool waiting_for_undo = false;  // the next step begins when what is being given back is given back
  unsigned doublings = 0;         // of `hold`
  Timestamp undone_at{};          // zero: nothing was given back lately
  Reactor::Handle step_timer, undo_timer;
};

struct Executor::State {
  State(const Environment& e, journal::Journal& j, const config::Config& c);

  // --- executor.cpp ---
  void load();
  [[nodiscard]] config::Mode mode() const { return override_ ? override_->mode : configured_mode; }
  void override_ended();
  void save_override();
  void operator_line(std::string kind, std::string reason);
  void say(const Run& run, const Plan& plan, Verdict verdict, const std::string& target, std::string reason,
           std::map<std::string, std::string> figures);
  void adopt(const DueUndo& due);
  // Calls `callback` only while this State and the run still exist.
  template <class Callback>
  auto guarded(std::uint64_t id, Callback callback) {
    return [this, token = std::weak_ptr<bool>(alive), id, callback](auto&&... arguments) {
      if (token.expired()) return;
      if (auto* run = find(id)) callback(*run, std::forward<decltype(arguments)>(arguments)...);
    };
  }

  // --- steps.cpp: alerts and the steps of their remedies ---
  [[nodiscard]] bool allows(std::string_view kind) const;
  void foresee(const Alert& alert);
  void fire(const Alert& alert);
  void resolve(const Alert& alert);
  void proceed(Plan& plan);
  void begin(Plan& plan, std::size_t step);
  void step_over(Plan& plan);
  void at_end(Plan& plan);
  void retry(Plan& plan);
  void try_again();
  bool begins_under_way(const Plan& plan) const;
  void arm_undo(Plan& plan);
  void drop_idle(const std::string& key);
  Plan& plan_of(const Alert& alert);
  std::shared_ptr<const Ladder> ladder_of(const std::shared_ptr<const std::vector<RemedySpec>>& specs);
  [[nodiscard]] milliseconds hold_of(const Plan& plan) const;

  // --- runs.cpp: one step's life ---
  void checked(Run& run, const std::string& refusal);
  void refuse(Run& run, const std::string& reason, std::map<std::string, std::string> figures = {});
  struct Grant {
    std::vector<Action::Target> granted;
    std::vector<std::pair<Action::Target, std::string>> refused;  // and why
  };
  Grant grant(const Plan& plan, const std::vector<Action::Target>& targets, Budget& from);
  std::string breaker_objects(const std::vector<Action::Target>& granted);
  void dry_run(Run& run, const Grant& grant);
  void say_refused(const Run& run, const Plan& plan, const Grant& grant);
  void write_down(Run& run);
  void written(Run& run, bool durable);
  void mark(const Run& run, HoldDowns& held, Breaker& counted) const;
  void put_marks(const HoldDowns& held, const Breaker& counted);
  void start(Run& run);
  void count_duration(const Run& run);
  void ran(Run& run, std::vector<Report> reports);
  void settled(Run& run);
  void verified(Run& run, Report report);
  void undo(Run& run, std::string why);
  void give_back(Run& run);
  void undone(Run& run, const Report& report);
  void end(Run& run);
  void persist(std::function<void(bool)> done = {});
  Run* find(std::uint64_t id);
  [[nodiscard]] std::size_t host_targets() const;
  void set_phase(Run& run, Phase phase) {
    run.phase = phase;
    run.changed = now().wall;
  }
  [[nodiscard]] Now now() const { return environment.reactor.now(); }

  struct Override {
    config::Mode mode;
    std::optional<Timestamp> until;
    Reactor::Handle timer;
  };

  Environment environment;
  journal::Journal& journal;
  bool unread = false;  // what former lives left has not been loaded
  decltype(config::Config::remedies) settings;
  config::Mode configured_mode;
  std::optional<Override> override_;
  Budget budget;
  HoldDowns hold_downs;
  Breaker breaker;
  std::map<std::string, Plan> plans;
  std::map<std::uint64_t, std::unique_ptr<Run>> runs;
  std::map<const void*, std::shared_ptr<const Ladder>> ladders;
  std::deque<ActionStatus> ended;               // the last ones, oldest first
  std::vector<std::unique_ptr<Run>> graveyard;  // runs may not end inside their own callbacks
  std::map<std::pair<std::string, Verdict>, std::uint64_t> counts;
  std::map<std::string, Duration> durations;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

}  // namespace rdmend::remedies
