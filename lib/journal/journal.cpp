// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/log.hpp"
#include "base/worker.hpp"
#include "journal/database.hpp"
#include "journal/entry_queue.hpp"

namespace rdmend::journal {
namespace {

constexpr milliseconds kRetry = seconds{10};  // how soon a write that failed is tried again
constexpr milliseconds kSlow = seconds{10};   // a write that takes longer is trouble: the disk hangs
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
  Effect effect;
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};

// What memory has and the disk lacks, or the disk has and memory has no more; newest first, each once.
std::vector<JournalEntry> merged(std::vector<JournalEntry> on_disk, const EntryQueue& recent, Timestamp since, std::size_t most) {
  std::map<std::uint64_t, JournalEntry, std::greater<>> all;
  for (auto& entry : on_disk) all.emplace(entry.id, std::move(entry));
  for (const auto& entry : recent.all())
    if (entry.at >= since) all.emplace(entry.id, entry);
  std::vector<JournalEntry> out;
  for (auto& [id, entry] : all)
    if (out.size() < most) out.push_back(std::move(entry));
  return out;
}

}  // namespace

struct Journal::State {
  State(Reactor& r, std::shared_ptr<Database> d) : reactor(r), database(std::move(d)), worker(r, "journal") {}

  struct Waiter {
    std::string document;
    std::function<void(bool)> written;
  };

  void opened(Contents contents, const Result<void>& result);
  void take(Contents contents);
  void write();
  void read_again();
  void was_read(const Contents& contents, const Result<void>& result);
  void began_work();
  void submit(const std::shared_ptr<const Change>& change, std::vector<Waiter> waiters);
  void finished(const Change& change, const Written& written, std::vector<Waiter> waiters);
  void take_effect(const Change& change, const Effect& effect);
  void keep_for_later(const Change& change);
  void fail(std::string why);
  void say_trouble(std::string text);
  void say_set_aside(const std::string& file);
  void answer_later(std::vector<Waiter> answered, bool durable);
  static void answer(const std::vector<Waiter>& answered, bool durable) {
    for (const auto& waiter : answered)
      if (waiter.written) waiter.written(durable);
  }

  Reactor& reactor;
  std::shared_ptr<Database> database;  // shared with a job that may outlive us
  EntryQueue recent{kRecent, kMostRecentBytes}, unwritten{kRecent, kMostRecentBytes};
  std::map<std::string, std::string> documents;
  std::set<std::string> dirty;
  std::vector<Waiter> waiters;
  std::uint64_t last_id = 0;
  std::string trouble;
  Status status;
  bool unread = false;
  bool writing = false;  // under way, or to be tried again when `retry` fires
  bool hanging = false;
  Reactor::Handle retry, slow;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  Worker worker;  // last, so that it ends first
};

Journal::Journal(Reactor& reactor, const std::string& directory, Size most)
    : state_(std::make_unique<State>(reactor, std::make_shared<Database>(directory, Bounds{most.entries, most.bytes}))) {
  Contents contents;
  const auto result = state_->database->open(kRecent, contents);
  state_->opened(std::move(contents), result);
}

void Journal::State::opened(Contents contents, const Result<void>& result) {
  const bool whole = result && contents.set_aside.empty();
  unread = !contents.read;
  if (unread) last_id = static_cast<std::uint64_t>(reactor.now().wall.time_since_epoch().count());
  take(std::move(contents));
  status.entries = database->entries();
  status.bytes = database->bytes();
  if (!whole)
    for (const auto& [name, text] : documents) dirty.insert(name);
  if (result)
    write();
  else
    fail("decisions and undos are kept in memory only: " + result.error().message);
}

// Takes up what the file held. What is in memory already is newer.
void Journal::State::take(Contents contents) {
  documents.merge(contents.documents);
  last_id = std::max(last_id, contents.last_id);
  recent.push_before(contents.recent);
  if (!contents.set_aside.empty()) say_set_aside(contents.set_aside);
}

Journal::~Journal() = default;

std::uint64_t Journal::reserve_id() { return ++state_->last_id; }

std::uint64_t Journal::append(JournalEntry entry) {
  clip(entry);
  entry.id = ++state_->last_id;
  const auto id = entry.id;
  state_->recent.push(entry);
  state_->status.lost += state_->unwritten.push(std::move(entry));
  state_->write();
  return id;
}

void Journal::put(const std::string& name, std::string text, std::function<void(bool durable)> written) {
  state_->documents[name] = std::move(text);
  state_->dirty.insert(name);
  if (state_->retry) {  // it fails at present: whoever waits shall not wait for the next try
    if (written) state_->answer_later({{name, std::move(written)}}, false);
    return;
  }
  if (written) state_->waiters.push_back({name, std::move(written)});
  state_->write();
}

std::string Journal::get(const std::string& name) const {
  const auto at = state_->documents.find(name);
  return at == state_->documents.end() ? std::string() : at->second;
}

std::vector<JournalEntry> Journal::recent(std::size_t count) const {
  const auto& all = state_->recent.all();
  return {all.rbegin(), all.rbegin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()))};
}

void Journal::history(Timestamp since, std::size_t most, const std::function<void(std::vector<JournalEntry>)>& done) {
  most = std::min(most, kMostHistory);
  auto* state = state_.get();
  const bool taken = !state->hanging && state->worker.submit([state, since, most, done, file = state->database]() -> std::function<void()> {
    auto read = file->read(since, most);
    auto entries = read ? std::move(*read) : std::vector<JournalEntry>();
    return [state, since, most, done, entries = std::move(entries)] { done(merged(entries, state->recent, since, most)); };
  });
  if (!taken) done(merged({}, state->recent, since, most));
}

std::string Journal::trouble() const { return state_->trouble; }

bool Journal::unread() const { return state_->unread; }

Journal::Status Journal::status() const { return state_->status; }

void Journal::flush(milliseconds deadline) {
  // The worker's queue keeps the order: what is under way is written first.
  state_->writing = false;
  state_->write();
  state_->worker.drain(deadline);
}

// One transaction at a time; what arrives meanwhile goes into the next one together. While there is trouble an empty one
// too, for it is how the end of the trouble is found.
void Journal::State::write() {
  if (writing) return;
  if (unread) return read_again();
  if (unwritten.all().empty() && dirty.empty() && trouble.empty()) return;
  auto change = std::make_shared<Change>();
  change->entries = unwritten.take();
  for (const auto& name : dirty) change->documents[name] = documents[name];
  change->last_id = last_id;
  dirty.clear();
  submit(change, std::exchange(waiters, {}));
}

void Journal::State::began_work() {
  writing = true;
  retry.reset();
  slow = reactor.after(kSlow, [this] {
    hanging = true;
    say_trouble("decisions and undos are not written: the disk does not answer");
  });
}

void Journal::State::read_again() {
  began_work();
  const bool taken = worker.submit([this, file = database]() -> std::function<void()> {
    Contents contents;
    auto result = file->open(kRecent, contents);
    return [this, result, contents = std::move(contents)] { was_read(contents, result); };
  });
  if (!taken) finished({}, {Error{"the disk does not keep up"}, {}, status.entries, status.bytes}, {});
}

void Journal::State::was_read(const Contents& contents, const Result<void>& result) {
  unread = !contents.read;
  if (!unread) take(contents);
  if (!result) return finished({}, {result, {}, database->entries(), database->bytes()}, {});
  writing = hanging = false;
  slow.reset();
  write();  // what waits, and who waits for it
}

void Journal::State::submit(const std::shared_ptr<const Change>& change, std::vector<Waiter> answered) {
  began_work();
  auto shared = std::make_shared<std::vector<Waiter>>(std::move(answered));
  const bool taken = worker.submit([this, change, shared, file = database]() -> std::function<void()> {
    Written written;
    written.result = file->write(*change, written.effect);
    written.entries = file->entries();
    written.bytes = file->bytes();
    return [this, change, shared, written] { finished(*change, written, std::move(*shared)); };
  });
  if (!taken) finished(*change, {Error{"the disk does not keep up"}, {}, status.entries, status.bytes}, std::move(*shared));
}

void Journal::State::finished(const Change& change, const Written& written, std::vector<Waiter> answered) {
  writing = hanging = false;
  slow.reset();
  status.entries = written.entries;
  status.bytes = written.bytes;
  take_effect(change, written.effect);
  if (!written.result) {
    keep_for_later(change);
    answered.insert(answered.end(), std::make_move_iterator(waiters.begin()), std::make_move_iterator(waiters.end()));
    waiters.clear();
    fail("decisions and undos are not written: " + written.result.error().message);
    return answer_later(std::move(answered), false);
  }
  say_trouble({});
  answer(answered, true);
  write();
}

// A file that was opened anew may be another one: what memory knows goes into it.
void Journal::State::take_effect(const Change& change, const Effect& effect) {
  status.dropped += effect.dropped;
  if (effect.opened)
    for (const auto& [name, text] : documents) dirty.insert(name);
  if (effect.set_aside.empty()) return;
  say_set_aside(effect.set_aside);
  std::set<std::uint64_t> there;
  for (const auto& entry : change.entries) there.insert(entry.id);
  for (const auto& entry : unwritten.all()) there.insert(entry.id);
  std::vector<JournalEntry> again;
  for (const auto& entry : recent.all())
    if (!there.contains(entry.id)) again.push_back(entry);
  unwritten.push_before(again);
}

// Puts back what could not be written, before what came since, within the bound.
void Journal::State::keep_for_later(const Change& change) {
  status.lost += unwritten.push_before(change.entries);
  for (const auto& [name, text] : change.documents) dirty.insert(name);
}

// A full disk is not asked again at each line, but after a while.
void Journal::State::fail(std::string why) {
  ++status.errors;
  say_trouble(std::move(why));
  writing = true;
  retry = reactor.after(kRetry, [this] {
    writing = false;
    write();
  });
}

void Journal::State::answer_later(std::vector<Waiter> answered, bool durable) {
  reactor.post([token = std::weak_ptr<bool>(alive), durable, shared = std::make_shared<std::vector<Waiter>>(std::move(answered))] {
    if (!token.expired()) answer(*shared, durable);
  });
}

// Said once when it begins and once when it ends, however often the words change in between.
void Journal::State::say_trouble(std::string text) {
  const bool before = !trouble.empty();
  trouble = std::move(text);
  if (before == !trouble.empty()) return;
  if (before)
    log::info("journal", "decisions and undos are written again");
  else
    log::warning("journal", trouble);
}

void Journal::State::say_set_aside(const std::string& file) {
  ++status.set_aside;
  log::warning("journal", "the journal was broken: set aside, a new one begun", {{"file", file}});
}

}  // namespace rdmend::journal
