// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "journal/journal.hpp"
#include "remedies/executor.hpp"
#include "store/store.hpp"
#include "support/fake_host.hpp"
#include "support/temp_directory.hpp"

namespace rdmend::test {

inline const std::string kQp17 = "rxe2/1 qpn 17 (ib_send_bw, pid 812)";
inline const std::string kRaise = "raise_min_rnr_timer";

// A host on virtual time whose receiver may be too slow: its series go to a real store every second, its alerts to a real
// executor with a real journal. What the executor decides is read back from the journal, as an operator would.
struct Story {
  Story() {
    config.mode = config::Mode::act;
    config.remedies.allow = {"raise_min_rnr_timer", "refresh_neighbour", "run_hook", "restart_unit", "advise"};
    config.remedies.units = {"opensm.service"};
    host.dump();
    open();
  }
  void open() {
    journal = std::make_unique<journal::Journal>(loop, directory.path());
    remedies::Environment environment{loop, store, host, processes, host, units, neighbours};
    executor = std::make_unique<remedies::Executor>(environment, *journal, config);
  }
  // rdmend ends as kill -9 would have it: nothing is said to anybody.
  void crash() {
    executor.reset();
    journal->flush(seconds{20});  // what the test compares must not depend on the disk's speed
    journal.reset();
  }

  static RemedySpec step(const std::string& kind, std::vector<std::pair<std::string, std::string>> params = {}) {
    RemedySpec spec{kind, "rules.yaml", {3, 5}, {}};
    for (auto& [name, value] : params) spec.params.push_back({name, {value}, false, {3, 7}, {3, 20}});
    return spec;
  }
  static RemedySpec hook(std::vector<std::string> command) {
    RemedySpec spec{"run_hook", "rules.yaml", {3, 5}, {}};
    spec.params.push_back({"command", std::move(command), true, {3, 7}, {3, 20}});
    return spec;
  }
  Alert alert(std::vector<RemedySpec> steps) const {
    Alert out;
    out.rule = "RdmaRnrNakStorm";
    out.group = "receiver-not-ready";
    out.file = "rules.yaml";
    out.labels = {{"alertname", "RdmaRnrNakStorm"}, {"device", "rxe2"}, {"port", "1"}};
    out.value = 412;
    out.active_at = loop.now().wall - seconds{5};
    out.remedy = std::make_shared<const std::vector<RemedySpec>>(std::move(steps));
    return out;
  }
  void decide(Alert alert, AlertState state) {
    alert.state = state;
    const Decision decision{loop.now().wall, AlertState::inactive, std::move(alert)};
    executor->on_decisions({&decision, 1}, loop.now());
    finish_writes();
  }
  void fire(const Alert& alert) { decide(alert, AlertState::firing); }
  void resolve(const Alert& alert) { decide(alert, AlertState::inactive); }
  // An alert that raises the timer fires, and goes on firing for `length`.
  Alert raise(milliseconds length) {
    auto out = alert({step(kRaise)});
    fire(out);
    pass(length);
    return out;
  }
  // The alert fires once more and ends; how often a raise was begun in this life.
  std::uint64_t attempts(const Alert& alert) {
    fire(alert);
    pass(seconds{40});
    resolve(alert);
    pass(seconds{1});
    return count(kRaise, Verdict::started);
  }

  // Lets virtual time pass, a second at a time, with the traffic of the host.
  void pass(milliseconds length) {
    for (milliseconds done{0}; done < length; done += seconds{1}) {
      traffic();
      loop.advance(seconds{1});
      finish_writes();
    }
  }
  // What the worker of the journal does takes real time; virtual time waits for it where an action does.
  void finish_writes() {
    loop.run_posted();
    bool waits = false;
    for (const auto& action : executor->actions()) waits = waits || action.phase == "checking";
    if (!waits) return;
    bool written = false;
    journal->put("story", "sync", [&](bool) { written = true; });
    REQUIRE(loop.run_until([&] { return written; }));
    loop.run_posted();
  }
  void traffic() {
    host.receive(packets);
    double sent = 0;
    for (const auto& [qpn, qp] : host.qps)
      if (storm && qp.receives) sent += mends ? 4000.0 / static_cast<double>(advice::rnr_timer(qp.timer).count()) : 400;
    naks += sent;
    received += packets * static_cast<double>(host.qps.size()) + resent_per_nak * sent;
    const auto at = loop.now().wall;
    const auto series = [](const char* name) { return Labels{{std::string(kMetricName), name}, {"device", "rxe2"}, {"port", "1"}}; };
    if (silent) return;
    store.append(series("rdma_rnr_naks_sent_total"), at, naks);
    store.append(series("rdma_packets_received_total"), at, received);
  }

  // The journal, oldest first: "verdict target: reason".
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& entry : journal->recent(1000))
      out.insert(out.begin(), fmt::format("{} {}: {}", verdict_name(entry.verdict), entry.target, entry.reason));
    return out;
  }
  std::string last() const { return lines().empty() ? "" : lines().back(); }
  JournalEntry last_entry() const { return journal->recent(1).at(0); }
  std::uint64_t count(const std::string& kind, Verdict verdict) const {
    for (const auto& one : executor->counts())
      if (one.kind == kind && one.verdict == verdict) return one.count;
    return ~0ULL;
  }
  const remedies::ActionStatus action(const std::string& phase) const {
    for (const auto& one : executor->actions())
      if (one.phase == phase) return one;
    return {};
  }

  TempDirectory directory;
  VirtualReactor loop;
  store::Store store{{}};
  FakeHost host{loop};
  FakeProcesses processes{loop};
  FakeUnits units{loop};
  FakeNeighbours neighbours;
  config::Config config;
  std::unique_ptr<journal::Journal> journal;
  std::unique_ptr<remedies::Executor> executor;

  bool storm = true;
  bool mends = true;            // a longer timer makes fewer NAKs
  bool silent = false;          // no counters are read
  std::uint32_t packets = 1000;  // a second that each QP takes in
  double resent_per_nak = 1;    // packets that a NAK makes the peer send again
  double naks = 0, received = 0;
};

using Lines = std::vector<std::string>;

}  // namespace rdmend::test
