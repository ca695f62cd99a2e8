// SPDX-License-Identifier: Apache-2.0
#include "sources/neighbours.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace rdmend::sources {
namespace {

constexpr std::size_t kMostMeanwhile = 4096;
constexpr milliseconds kMergeTurns{20};        // peers fail together
constexpr std::chrono::seconds kUrgentAtMost{1};  // all series of the neighbours, so not at each of a storm's messages

}  // namespace

Neighbours::Neighbours(Reactor& reactor, const Options& options, const Sinks& sinks)
    : reactor_(reactor),
      sinks_(sinks),
      interval_(options.counters_interval),
      deadline_after_(options.deadline),
      reader_(std::make_shared<NeighbourReader>(options.sysfs)),
      worker_(reactor, "neighbours") {}

void Neighbours::start() {
  auto opened = listen_for_neighbours(
      reactor_, [this](std::uint32_t index) { return reading_ || table_.watches(index); }, [this](const rtneigh::Change& change) { on_change(change); },
      [this] {
        next_ = {};
        again_ = reading_;
      });
  if (opened)
    listener_.emplace(std::move(*opened));
  else
    log::warning("sources", "no notifications about neighbours: they are read now and then", {{"error", opened.error().message}});
}

void Neighbours::reconfigure(const Options& options) {
  interval_ = options.counters_interval;
  deadline_after_ = options.deadline;
  next_ = std::min(next_, reactor_.now().mono + interval_);
}

void Neighbours::complain(const std::string& what) {
  const auto suppressed = complaints_.admit(what, reactor_.now().mono);
  if (suppressed >= 0) log::warning("sources", what, {{"suppressed", std::to_string(suppressed)}});
}

void Neighbours::tick(std::vector<NeighbourPort> ports) {
  if (ports != ports_) {
    ports_ = std::move(ports);
    next_ = {};
  }
  if (table_.take_relief()) emit(false);  // no rule is to fire for what was being resolved when it was read
  if (reading_ || reactor_.now().mono < next_) return;
  if (!ports_.empty()) return read_now();
  stale_ = false;
  end_scopes({});
  tell(table_.replace({}));
}

void Neighbours::forget(const std::string& device) {
  table_.forget(device);
  std::erase_if(ports_, [&](const NeighbourPort& port) { return port.device == device; });
  std::set<std::string> left;
  std::copy_if(scopes_.begin(), scopes_.end(), std::inserter(left, left.end()),
               [&](const std::string& scope) { return !scope.starts_with(NeighbourTable::scopes_of(device)); });
  end_scopes(left);
  scopes_ = std::move(left);
}

void Neighbours::read_now() {
  next_ = reactor_.now().mono + interval_;
  again_ = false;
  meanwhile_.clear();
  reading_ = worker_.submit([this, reader = reader_, ports = ports_]() -> std::function<void()> {
    auto reading = std::make_shared<NeighbourReading>(reader->read(ports));
    return [this, reading] { on_reading(std::move(*reading)); };
  });
  if (reading_) deadline_ = reactor_.after(deadline_after_, [this] { on_late(); });
}

void Neighbours::on_late() {
  deadline_.reset();
  stale_ = true;
  end_scopes({});
  complain("the neighbours are not told within the deadline: their series end");
}

void Neighbours::on_reading(NeighbourReading reading) {
  reading_ = false;
  stale_ = !deadline_;  // what always comes too late is not believed
  deadline_.reset();
  const auto changes = std::exchange(meanwhile_, {});
  if (again_) next_ = {};
  if (reading.error != 0) {
    stale_ = true;
    end_scopes({});
    return complain(std::string("the neighbours cannot be read, their series end: ") + std::strerror(reading.error));  // NOLINT(concurrency-mt-unsafe)
  }
  // A port may have gone while its neighbours were read.
  std::erase_if(reading.interfaces, [&](const NeighbourInterface& one) { return std::find(ports_.begin(), ports_.end(), one.of) == ports_.end(); });
  tell(table_.replace(std::move(reading), changes));
  emit(false);
}

void Neighbours::on_change(const rtneigh::Change& change) {
  if (reading_) {
    if (meanwhile_.size() < kMostMeanwhile)
      meanwhile_.push_back(change);
    else
      again_ = true;
  }
  tell(table_.apply(change));
}

// Rules that read them run at once where a queue pair leads there; all else waits for the next reading.
void Neighbours::tell(const std::vector<NeighbourTable::Turn>& turns) {
  for (const auto& turn : turns) {
    if (turn.who.qps == 0) continue;
    sinks_.event({.at = reactor_.now().wall, .device = turn.who.device, .port = turn.who.port, .kind = turn.kind, .detail = turn.detail});
    if (urgent_ || stale_) continue;
    const auto wait = std::chrono::ceil<milliseconds>(next_urgent_ - reactor_.now().mono);
    urgent_ = reactor_.after(std::max(wait, kMergeTurns), [this] {
      urgent_.reset();
      next_urgent_ = reactor_.now().mono + kUrgentAtMost;
      emit(true);
    });
  }
}

void Neighbours::emit(bool urgent) {
  if (stale_) return;
  std::set<std::string> told;
  for (auto& scope : table_.scopes()) {
    told.insert(scope.name);
    sinks_.batch({.scope = scope.name, .at = reactor_.now().wall, .samples = std::move(scope.samples), .last = false, .urgent = urgent});
  }
  end_scopes(told);
  scopes_ = std::move(told);
}

void Neighbours::end_scopes(const std::set<std::string>& but) {
  for (const auto& scope : std::exchange(scopes_, {}))
    if (!but.contains(scope)) sinks_.batch({.scope = scope, .at = reactor_.now().wall, .samples = {}, .last = true});
}

}  // namespace rdmend::sources
