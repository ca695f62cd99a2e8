// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "base/reactor.hpp"
#include "base/result.hpp"
#include "model/decision.hpp"
#include "model/neighbour.hpp"
#include "model/outcome.hpp"
#include "model/qp.hpp"
#include "store/store.hpp"
#include "wire/hand.hpp"

namespace rdmend::remedies {

class ReceiveHistory;

// The external hand as a remedy sees it; the daemon speaks to the child process, tests to one of their own.
class Hand {
 public:
  virtual ~Hand() = default;
  // `done` runs on the loop, once, with the reply or with why there is none (no hand, it died, deadline).
  virtual void request(wire::HandRequest request, milliseconds deadline,
                       std::function<void(Result<wire::HandReply>)> done) = 0;
  // "" when the hand is there; else why not ("acting is not granted: ...").
  [[nodiscard]] virtual std::string unavailable() const = 0;
};

// A child process with a deadline, for hooks. Runs argv[0] without a shell.
class Processes {
 public:
  struct Exit {
    int status = -1;  // exit status, 128 + signal, or -1 when it could not be started
    bool timed_out = false;
    std::string output;  // first 4 KiB of stdout and stderr
    std::string error;   // why it could not be started
  };
  virtual ~Processes() = default;
  virtual void run(std::vector<std::string> argv, std::vector<std::string> environment,
                   std::string standard_input, milliseconds deadline, std::function<void(Exit)> done) = 0;
};

// A unit of the service manager as it is now.
struct UnitState {
  std::string id;          // its own name, also where it was asked for by another
  std::string load_state;  // loaded, not-found, masked, bad-setting, error
  std::string active_state, sub_state;
  std::string invocation;          // tells one start of it from the next; "" when there was none
  bool by_hand = true;             // it lets itself be stopped and started
  bool takes_rdmend_along = false;  // it is rdmend's own unit, or that one stops when it stops
};

// The service manager. `done` runs on the loop, once, soon after `deadline` at the latest.
class Units {
 public:
  virtual ~Units() = default;
  virtual void look(std::string unit, milliseconds deadline, std::function<void(Result<UnitState>)> done) = 0;
  // Would the manager let us restart it? Nothing is done to the unit.
  virtual void may_restart(std::string unit, milliseconds deadline,
                           std::function<void(Result<void>)> done) = 0;
  // The unit as it is when its restart has ended well.
  virtual void restart(std::string unit, milliseconds deadline,
                       std::function<void(Result<UnitState>)> done) = 0;
};

// The QPs of the host as the sources last saw them.
class QpTable {
 public:
  virtual ~QpTable() = default;
  // The last dump of `device` and the one before it (empty device: none). Two dumps make "its rq-psn moved".
  [[nodiscard]] virtual const QpDump& latest(const std::string& device) const = 0;
  [[nodiscard]] virtual const QpDump& previous(const std::string& device) const = 0;
  // How far its QPs had received at the dumps of the last two minutes.
  [[nodiscard]] virtual const ReceiveHistory& history(const std::string& device) const = 0;
  // The devices that there are dumps of: the breaker's view of the whole host.
  [[nodiscard]] virtual std::vector<std::string> devices() const = 0;
  // Asks for a fresh dump; `done` runs when latest() is newer than the call, or after the deadline (false).
  virtual void refresh(const std::string& device, milliseconds deadline, std::function<void(bool)> done) = 0;
};

// The ARP and ND entries on the network devices of the host's RDMA ports, as they are now.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  [[nodiscard]] virtual std::vector<PortNeighbour> of(const std::string& device, const std::string& port) const = 0;
};

struct Environment {
  Reactor& reactor;
  const store::Store& store;
  Hand& hand;
  Processes& processes;
  QpTable& qps;
  Units& units;
  Neighbours& neighbours;
  // Set by the executor: nothing will be done (mode observe), so a hand that is not there is no reason to
  // refuse.
  bool observing = false;
  std::vector<std::string> units_allowed{};  // remedies.units; set by the executor
};

// What one run of a remedy reports; several a run (one a QP), the last with `finished`.
struct Report {
  Verdict verdict = Verdict::failed;
  std::string target;
  std::string reason;
  std::map<std::string, std::string> figures;
};

// One action in flight: made by a Remedy for one alert, lives until it is verified, undone or given up.
class Action {
 public:
  virtual ~Action() = default;
  // May it run here? "" or the reason why not. Asynchronous, for it may have to ask the hand or the kernel.
  virtual void check(std::function<void(std::string refusal)> done) = 0;
  // What it would act on, for budgets, dry run and the journal: "rxe2/1 qpn 17 (rnr_server, pid 812)".
  struct Target {
    std::string key;      // budget key of the target itself
    std::string process;  // budget key of its process; "" for none
    std::string text;
    std::string intent{};  // what would be done: "code 1 (0.01 ms) -> code 4 (0.04 ms)"
    bool is_qp = false;    // counted by the breaker
  };
  [[nodiscard]] virtual std::vector<Target> targets() const = 0;
  // What it has to write down before it changes anything, so that a restarted rdmend can undo; "" when
  // nothing is to be undone.
  [[nodiscard]] virtual std::string undo_record() const { return {}; }
  // Acts on `granted` (those of targets() that the budgets allow). One report a target.
  virtual void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) = 0;
  // Did the evidence change for the better since run()? Called after `settle`.
  virtual void verify(std::function<void(Report)> done) = 0;
  // Gives back what was changed, where it is still ours. After undo_failed it may be called again for the
  // rest.
  virtual void undo(std::function<void(Report)> done) = 0;
  [[nodiscard]] virtual bool undoable() const { return false; }
  // false: it touches nothing (an advice), so it takes no token and runs in mode observe too.
  [[nodiscard]] virtual bool acts() const { return true; }
  // false: run() itself tells how it ended; verify() is not called.
  [[nodiscard]] virtual bool verifiable() const { return true; }
};

// A compiled step of a rule's remedy list.
class Remedy {
 public:
  virtual ~Remedy() = default;
  [[nodiscard]] virtual std::string_view kind() const = 0;
  // "raise_min_rnr_timer factor 4, ceiling 10ms": for logs and explain.
  [[nodiscard]] virtual std::string describe() const = 0;
  // The alert is pending and may soon need this remedy: a look at what its outcome will be compared with.
  virtual void foresee(const Alert&, Environment&) const {}
  [[nodiscard]] virtual std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const = 0;
  // Rebuilds an action from its undo_record(), after a restart; null when it has none.
  [[nodiscard]] virtual std::unique_ptr<Action> resume(const std::string& undo_record,
                                                       Environment& environment) const = 0;
};

// One row a kind: the table that check rules, the reference pages and the executor use. table.cpp.
struct ParamRow {
  std::string_view name, type, default_value, help;
};
struct KindRow {
  std::string_view kind;
  std::string_view help;
  std::vector<ParamRow> params;
  std::unique_ptr<Remedy> (*compile)(const RemedySpec& spec,
                                     Diagnostics& diagnostics);  // null after an error
};
const std::vector<KindRow>& kinds();

// Compiles one step; unknown kinds and parameters are errors with their position and what is legal.
std::unique_ptr<Remedy> compile(const RemedySpec& spec, Diagnostics& diagnostics);

}  // namespace rdmend::remedies
