// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/log.hpp"
#include "base/worker.hpp"
#include "journal/database.hpp"

namespace rdmend::journal {
namespace {

constexpr milliseconds kRetry = seconds{10};  // how soon a write that failed is tried again
constexpr std::size_t kMostFigures = 64;

void clip(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

void clip(JournalEntry& entry) {
  clip(entry.rule, Journal::kMostText);
  clip(entry.target, Journal::kMostText);
  clip(entry.reason, Journal::kMostText);
  while (entry.figures.size() > kMostFigures) entry.figures.erase(std::prev(entry.figures.end()));
  for (auto& [name, value] : entry.figures) clip(value, Journal::kMostText);
}

struct Written {
  Result<void> result;
  bool replaced = false;
};

}  // namespace

struct Journal::State {
  explicit State(Reactor& r) : reactor(r), worker(r, "journal") {}

  struct Waiter {
    std::string document;
    std::function<void(bool)> written;
  };

  void write();
  void submit(const std::shared_ptr<const Change>& change, std::vector<Waiter> waiters);
  void finished(const Change& change, const Written& written, std::vector<Waiter> waiters);
  void keep_for_later(const Change& change);
  void say_trouble(std::string text);
  static void answer(const std::vector<Waiter>& answered, bool durable) {
    for (const auto& waiter : answered)
      if (waiter.written) waiter.written(durable);
  }

  Reactor& reactor;
  std::shared_ptr<Database> database;  // null: memory only. Shared with a job that may outlive us.
  std::deque<JournalEntry> recent;     // oldest first
  std::map<std::string, std::string> documents;
  std::deque<JournalEntry> unwritten;
  std::set<std::string> dirty;
  std::vector<Waiter> waiters;
  std::uint64_t last_id = 0;
  std::string trouble;
  bool writing = false;
  Reactor::Handle retry;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  Worker worker;  // last, so that it ends first
};

Journal::Journal(Reactor& reactor, const std::string& directory) : state_(std::make_unique<State>(reactor)) {
  Contents contents;
  auto database = Database::open(directory, kRecent, contents);
  if (!database) {
    state_->say_trouble("decisions and undos are kept in memory only: " + database.error().message);
    return;
  }
  if (!contents.set_aside.empty())
    log::warning("journal", "the journal was broken: set aside, a new one begun", {{"file", contents.set_aside}});
  state_->database = std::make_shared<Database>(std::move(*database));
  state_->documents = std::move(contents.documents);
  state_->last_id = contents.last_id;
  state_->recent.assign(std::make_move_iterator(contents.recent.begin()), std::make_move_iterator(contents.recent.end()));
}

Journal::~Journal() = default;

std::uint64_t Journal::reserve_id() { return ++state_->last_id; }

std::uint64_t Journal::append(JournalEntry entry) {
  clip(entry);
  entry.id = ++state_->last_id;
  state_->recent.push_back(entry);
  if (state_->recent.size() > kRecent) state_->recent.pop_front();
  const auto id = entry.id;
  if (state_->database) {
    state_->unwritten.push_back(std::move(entry));
    if (state_->unwritten.size() > kRecent) state_->unwritten.pop_front();
    state_->write();
  }
  return id;
}

void Journal::put(const std::string& name, std::string text, std::function<void(bool durable)> written) {
  state_->documents[name] = std::move(text);
  if (!state_->database) {
    if (written)
      state_->reactor.post([alive = std::weak_ptr<bool>(state_->alive), written = std::move(written)] {
        if (!alive.expired()) written(false);
      });
    return;
  }
  state_->dirty.insert(name);
  if (written) state_->waiters.push_back({name, std::move(written)});
  state_->write();
}

std::string Journal::get(const std::string& name) const {
  const auto at = state_->documents.find(name);
  return at == state_->documents.end() ? std::string() : at->second;
}

std::vector<JournalEntry> Journal::recent(std::size_t count) const {
  const auto& all = state_->recent;
  return {all.rbegin(), all.rbegin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()))};
}

std::string Journal::trouble() const { return state_->trouble; }

void Journal::flush(milliseconds deadline) {
  if (!state_->database) return;
  // The worker's queue keeps the order: what is under way is written first.
  state_->writing = false;
  state_->write();
  state_->worker.drain(deadline);
}

// One transaction at a time; what arrives meanwhile goes into the next one together.
void Journal::State::write() {
  if (writing || (unwritten.empty() && dirty.empty())) return;
  auto change = std::make_shared<Change>();
  change->entries.assign(unwritten.begin(), unwritten.end());
  for (const auto& name : dirty) change->documents[name] = documents[name];
  unwritten.clear();
  dirty.clear();
  submit(change, std::exchange(waiters, {}));
}

void Journal::State::submit(const std::shared_ptr<const Change>& change, std::vector<Waiter> answered) {
  writing = true;
  retry.reset();
  auto shared = std::make_shared<std::vector<Waiter>>(std::move(answered));
  const bool taken = worker.submit([this, change, shared, file = database]() -> std::function<void()> {
    Written written;
    written.result = file->write(*change, kMostEntries, written.replaced);
    return [this, change, shared, written] { finished(*change, written, std::move(*shared)); };
  });
  if (!taken) finished(*change, {Error{"the disk does not keep up"}}, std::move(*shared));
}

void Journal::State::finished(const Change& change, const Written& written, std::vector<Waiter> answered) {
  writing = false;
  if (written.replaced) {
    log::warning("journal", "the journal broke while it was written: set aside, a new one begun");
    for (const auto& [name, text] : documents) dirty.insert(name);
  }
  if (!written.result) {
    keep_for_later(change);
    say_trouble("decisions and undos are not written: " + written.result.error().message);
    writing = true;  // until the retry: a full disk is not asked again at each line
    retry = reactor.after(kRetry, [this] {
      writing = false;
      write();
    });
    reactor.post([this, token = std::weak_ptr<bool>(alive), shared = std::make_shared<std::vector<Waiter>>(std::move(answered))] {
      if (!token.expired()) answer(*shared, false);
    });
    return;
  }
  say_trouble({});
  answer(answered, true);
  write();
}

// Puts back what could not be written, before what came since, within the bound.
void Journal::State::keep_for_later(const Change& change) {
  unwritten.insert(unwritten.begin(), change.entries.begin(), change.entries.end());
  while (unwritten.size() > kRecent) unwritten.pop_front();
  for (const auto& [name, text] : change.documents) dirty.insert(name);
}

void Journal::State::say_trouble(std::string text) {
  if (text == trouble) return;
  trouble = std::move(text);
  if (trouble.empty())
    log::info("journal", "decisions and undos are written again");
  else
    log::warning("journal", trouble);
}

}  // namespace rdmend::journal
