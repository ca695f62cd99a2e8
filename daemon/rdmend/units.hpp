// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/reactor.hpp"
#include "base/worker.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::daemon {

// The unit that this process runs in, "" when it runs in none.
std::string own_unit();

// systemd over the system bus. Every call opens a connection of its own in a worker and closes it, so that nothing of a
// bus or a manager that hangs, ends or is started anew outlives the call. A restart never delays a look.
class SystemdUnits : public remedies::Units {
 public:
  SystemdUnits(Reactor& reactor, std::string own);  // `own`: the unit that is never restarted, nor what would stop it

  void look(std::string unit, milliseconds deadline, std::function<void(Result<remedies::UnitState>)> done) override;
  void may_restart(std::string unit, milliseconds deadline, std::function<void(Result<void>)> done) override;
  void restart(std::string unit, milliseconds deadline, std::function<void(Result<remedies::UnitState>)> done) override;

 private:
  template <class Outcome>
  void submit(Worker& worker, std::function<Outcome()> job, std::function<void(Outcome)> done);

  Reactor& reactor_;
  std::string own_;
  Worker looks_, restarts_;
};

}  // namespace rdmend::daemon
