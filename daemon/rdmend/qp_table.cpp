// SPDX-License-Identifier: Apache-2.0
#include "rdmend/qp_table.hpp"

#include <utility>

namespace rdmend::daemon {

QpTable::QpTable(Reactor& reactor, std::function<void(const std::string& device)> request)
    : reactor_(reactor), request_(std::move(request)) {}

void QpTable::take(QpDump dump) {
  auto& dumps = dumps_[dump.device];
  dumps.history.take(dump);
  dumps.previous = std::exchange(dumps.latest, std::move(dump));
  const auto device = dumps.latest.device;
  // Who is answered may ask again; those wait for the next dump.
  std::vector<std::list<Waiter>::iterator> answered;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter)
    if (waiter->device == device) answered.push_back(waiter);
  for (const auto waiter : answered) answer(waiter, true);
}

void QpTable::forget(const std::string& device) {
  dumps_.erase(device);
}

void QpTable::answer(std::list<Waiter>::iterator waiter, bool fresh) {
  auto done = std::move(waiter->done);
  waiters_.erase(waiter);
  done(fresh);
}

const QpDump& QpTable::latest(const std::string& device) const {
  const auto found = dumps_.find(device);
  return (found == dumps_.end() ? none_ : found->second).latest;
}

const QpDump& QpTable::previous(const std::string& device) const {
  const auto found = dumps_.find(device);
  return (found == dumps_.end() ? none_ : found->second).previous;
}

const remedies::ReceiveHistory& QpTable::history(const std::string& device) const {
  const auto found = dumps_.find(device);
  return (found == dumps_.end() ? none_ : found->second).history;
}

std::vector<std::string> QpTable::devices() const {
  std::vector<std::string> out;
  for (const auto& [device, dumps] : dumps_) out.push_back(device);
  return out;
}

void QpTable::refresh(const std::string& device, milliseconds deadline, std::function<void(bool)> done) {
  const auto waiter = waiters_.insert(waiters_.end(), Waiter{device, std::move(done), nullptr});
  waiter->deadline = reactor_.after(deadline, [this, waiter] { answer(waiter, false); });
  request_(device);
}

}  // namespace rdmend::daemon
