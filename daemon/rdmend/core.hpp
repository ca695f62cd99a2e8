// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "alerts/notifier.hpp"
#include "journal/journal.hpp"
#include "metrics/exposition.hpp"
#include "rdmend/event_ring.hpp"
#include "rdmend/loop.hpp"
#include "rdmend/servers.hpp"
#include "rdmend/settings.hpp"
#include "remedies/executor.hpp"
#include "rules/engine.hpp"
#include "sources/host.hpp"
#include "store/store.hpp"

namespace rdmend::daemon {

// How the last reading of the files went; `text` is what a person gets: the faults, or what was applied.
struct ReloadOutcome {
  bool good = false;
  std::string text;
  Timestamp at{};
};

// What the API and our own metrics look at: the rooms as they run. Made and owned by Daemon.
struct Core {
  Loop& loop;
  store::Store& store;
  rules::Engine& engine;
  alerts::Notifier& notifier;
  journal::Journal& journal;
  remedies::Executor& executor;
  remedies::Hand& hand;
  sources::Host& host;
  const EventRing& events;
  const Servers& servers;
  std::shared_ptr<const Settings>& settings;
  const bool& ready;
  const Now& started;
  const ReloadOutcome& last_reload;        // as it went
  const Timestamp& last_good_reload;
  std::function<ReloadOutcome()> reload;
  metrics::Page page{};
  bool looking_deep = false;  // a look at all QPs through the hand is under way
};

}  // namespace rdmend::daemon
