// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/reactor.hpp"
#include "base/result.hpp"
#include "model/outcome.hpp"

namespace rdmend::journal {

// What must outlive rdmend, in one SQLite file of the state directory (WAL, synchronous=FULL), written by a worker: the
// loop never waits for a disk. Without a usable disk it goes on in memory, says so once, and tries again by itself. A file that could not
// be read at start is read as soon as it can be, before anything is written to it: documents that were put meanwhile are newer than its own, and
// ids that were given meanwhile are those of the time in milliseconds, above any that it may hold.
//
// Two kinds of content:
//  - entries: the decisions and outcomes, the newest within kMostEntries and kMostBytes;
//  - documents: small named JSON texts (undos that are due, `for` state, hold-downs, the breaker), replaced whole and
//    never dropped.
class Journal {
 public:
  static constexpr std::size_t kMostEntries = 100'000;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;
  static constexpr std::size_t kRecent = 1'000;  // entries that are kept in memory, for the API and while a disk fails
  static constexpr std::size_t kMostRecentBytes = std::size_t{8} << 20U;  // which those may take
  static constexpr std::size_t kMostText = 8'192;  // bytes of a reason or a figure
  static constexpr std::size_t kMostHistory = 10'000;  // entries of one history()

  struct Size {
    std::size_t entries = kMostEntries;
    std::uint64_t bytes = kMostBytes;
  };
  // Opens (creating) `directory`/rdmend.db. A broken file is set aside as rdmend.db.broken-N and said so.
  Journal(Reactor& reactor, const std::string& directory) : Journal(reactor, directory, Size{}) {}
  Journal(Reactor& reactor, const std::string& directory, Size most);
  ~Journal();

  // An id of the entries' own rising sequence, for an action that its entries will name.
  std::uint64_t reserve_id();
  // Gives the entry its id and hands it to the worker. Returns the id. Texts longer than kMostText are cut.
  std::uint64_t append(JournalEntry entry);
  // Replaces document `name`; `written` runs on the loop once it is durable (true), or could not be made so (false).
  void put(const std::string& name, std::string text, std::function<void(bool durable)> written = {});
  // The document as it was at start or was last put; "" when there is none.
  [[nodiscard]] std::string get(const std::string& name) const;
  // The file could not be read yet: what was decided and is due from former lives is not known.
  [[nodiscard]] bool unread() const;
  // The newest `count` entries, newest first, from memory.
  [[nodiscard]] std::vector<JournalEntry> recent(std::size_t count) const;
  // The entries of `since` or later, at most `most` and kMostHistory, newest first; from the disk where it can be read.
  void history(Timestamp since, std::size_t most, const std::function<void(std::vector<JournalEntry>)>& done);
  // Why the disk is not used, or cannot be written; "" when all is well.
  [[nodiscard]] std::string trouble() const;
  struct Status {
    std::size_t entries = 0;    // on disk
    std::uint64_t bytes = 0;    // likewise
    std::uint64_t errors = 0;   // writings and openings that failed
    std::uint64_t dropped = 0;  // entries that had to go for newer ones
    std::uint64_t lost = 0;     // entries that could not be written before they had to go
    std::uint64_t set_aside = 0;  // files that were broken
  };
  [[nodiscard]] Status status() const;
  // Writes out what waits, at most `deadline`; for an orderly end.
  void flush(milliseconds deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::journal
