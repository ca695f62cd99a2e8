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
};

// What one transaction writes.
struct Change {
  std::vector<JournalEntry> entries;
  std::map<std::string, std::string> documents;
};

// The SQLite file. Blocks; used by one thread at a time (at start the loop's, then the journal's worker's).
class Database {
 public:
  // Opens `directory`/rdmend.db, creating both. A file that SQLite finds broken is renamed to rdmend.db.broken-N first.
  static Result<Database> open(const std::string& directory, std::size_t recent, Contents& contents);
  // Durable when it returns without error. A file found broken only now is set aside and a new one begun: then
  // `replaced` is set, and only `change` is in it.
  Result<void> write(const Change& change, std::size_t most_entries, bool& replaced);

 private:
  using Connection = CHandle<sqlite3, sqlite3_close>;
  explicit Database(Connection connection, std::string directory, std::size_t entries)
      : connection_(std::move(connection)), directory_(std::move(directory)), entries_(entries) {}
  Result<void> transact(const Change& change, std::size_t most_entries);

  Connection connection_;
  std::string directory_;
  std::size_t entries_ = 0;  // rows, counted
};

}  // namespace rdmend::journal
