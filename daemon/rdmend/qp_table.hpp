// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/reactor.hpp"
#include "model/qp.hpp"
#include "remedies/receive_history.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::daemon {

// The last two QP dumps of every device, as remedies see them.
class QpTable : public remedies::QpTable {
 public:
  // `request` asks the sources for a dump of a device out of its rhythm.
  QpTable(Reactor& reactor, std::function<void(const std::string& device)> request);

  void take(QpDump dump);
  void forget(const std::string& device);

  [[nodiscard]] const QpDump& latest(const std::string& device) const override;
  [[nodiscard]] const QpDump& previous(const std::string& device) const override;
  [[nodiscard]] const remedies::ReceiveHistory& history(const std::string& device) const override;
  [[nodiscard]] std::vector<std::string> devices() const override;
  void refresh(const std::string& device, milliseconds deadline, std::function<void(bool)> done) override;

 private:
  struct Dumps {
    QpDump latest, previous;
    remedies::ReceiveHistory history;
  };
  struct Waiter {
    std::string device;
    std::function<void(bool)> done;
    Reactor::Handle deadline;
  };
  void answer(std::list<Waiter>::iterator waiter, bool fresh);

  Reactor& reactor_;
  std::function<void(const std::string&)> request_;
  std::map<std::string, Dumps> dumps_;
  std::list<Waiter> waiters_;
  Dumps none_;
};

}  // namespace rdmend::daemon
