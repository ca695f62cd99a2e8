// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sqlite3.h>

#include <map>
#include <string>
#include <vector>

#include "base/c_handle.hpp"
#include "base/result.hpp"
#include "model/outcome.hpp"

namespace rdmend::journal {

// What a file held when it was opened.
struct Contents {
  std::vector<JournalEntry> recent;  // oldest first
  std::map<std::string, std::string> documents;
  std::uint64_t last_id = 0;
  std::string set_aside;  // where a broken file went, and why; "" when there was none
  bool read = false;      // else there may be more than is told here
};

// What one transaction writes.
struct Change {
  std::vector<JournalEntry> entries;
  std::map<std::string, std::string> documents;
  std::uint64_t last_id = 0;
};

// What else a write did.
struct Effect {
  std::string set_aside;     // where the file went that broke meanwhile, and why; a new one has `change` and no more
  bool opened = false;       // the file was opened (again): it may be another one, or lack documents
  std::size_t dropped = 0;   // entries, the oldest, to stay within the bounds
};

struct Bounds {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;  // of the file's used pages; entries alone are dropped for it, documents never
};

// The SQLite file. Blocks; used by one thread at a time (at start the loop's, then the journal's worker's). It is opened
// again by the next write after one that failed: the disk may have been mounted anew, the directory made again.
class Database {
 public:
  Database(std::string directory, Bounds bounds) : directory_(std::move(directory)), bounds_(bounds) {}
  // Opens `directory`/rdmend.db, creating both. A file that SQLite finds broken is renamed to rdmend.db.broken-N first;
  // what documents it still tells are kept. After an error `contents` has what could be read all the same.
  Result<void> open(std::size_t recent, Contents& contents);
  // Durable when it returns without error.
  Result<void> write(const Change& change, Effect& effect);
  // Newest first, of `since` or later, at most `most`, and of no more than some megabytes.
  Result<std::vector<JournalEntry>> read(Timestamp since, std::size_t most);

  [[nodiscard]] std::size_t entries() const { return entries_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  using Connection = CHandle<sqlite3, sqlite3_close>;
  Result<void> open_whole(std::size_t recent, Contents& contents);
  void read_what_is_there(std::size_t recent, Contents& contents) const;
  Result<void> begin_anew(const Contents& contents) const;
  Result<std::string> finish_setting_aside() const;
  Result<void> transact(const Change& change, Effect& effect);
  Result<std::size_t> insert(const Change& change);
  Result<std::size_t> drop(std::size_t count);
  Result<std::uint64_t> used();
  [[nodiscard]] std::string path() const { return directory_ + "/rdmend.db"; }

  std::string directory_;
  Bounds bounds_;
  Connection connection_;
  std::size_t entries_ = 0;  // rows, counted
  std::uint64_t bytes_ = 0;
  std::map<std::string, std::string> known_;  // the documents as they were written last
};

}  // namespace rdmend::journal
