// SPDX-License-Identifier: Apache-2.0
#include "journal/database.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "journal/rows.hpp"

namespace rdmend::journal {
namespace {

constexpr std::size_t kMostRead = std::size_t{8} << 20U;

// Whether the next write should open the file again. Not for a full or busy disk: the open file goes on being good.
bool wants_reopening(int code) { return (code & 0xff) != SQLITE_FULL && (code & 0xff) != SQLITE_BUSY; }

}  // namespace

// Returns how many entries are new: a transaction that was told to have failed may have been written all the same.
Result<std::size_t> Database::insert(const Change& change) {
  auto* connection = connection_.get();
  std::size_t fresh = 0;
  Statement entry_row(connection, "INSERT OR IGNORE INTO entries VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)");
  for (const auto& entry : change.entries) {
    entry_row.reset();
    bind_entry(entry_row, entry);
    entry_row.step();
    if (auto ok = entry_row.result("writing rdmend.db"); !ok) return ok.error();
    fresh += static_cast<std::size_t>(sqlite3_changes(connection));
  }
  if (auto ok = put_documents(connection, change.documents, change.last_id); !ok) return ok.error();
  return fresh;
}

// Drops the oldest `count` entries; returns how many there were.
Result<std::size_t> Database::drop(std::size_t count) {
  Statement oldest(connection_.get(), "DELETE FROM entries WHERE id IN (SELECT id FROM entries ORDER BY id LIMIT ?1)");
  oldest.bind(1, static_cast<std::int64_t>(count));
  oldest.step();
  if (auto ok = oldest.result("writing rdmend.db"); !ok) return ok.error();
  return static_cast<std::size_t>(sqlite3_changes(connection_.get()));
}

Result<std::uint64_t> Database::used() {
  std::int64_t pages = 0;
  std::int64_t size = 0;
  for (const auto& [sql, sign] : {std::pair{"PRAGMA page_count", 1}, {"PRAGMA freelist_count", -1}, {"PRAGMA page_size", 0}}) {
    Statement number(connection_.get(), sql);
    if (number.step()) (sign == 0 ? size : pages) += (sign == 0 ? 1 : sign) * number.integer(0);
    if (auto ok = number.result("reading rdmend.db"); !ok) return ok.error();
  }
  return static_cast<std::uint64_t>(pages * size);
}

Result<void> Database::transact(const Change& change, Effect& effect) {
  auto* connection = connection_.get();
  if (auto ok = execute(connection, "BEGIN IMMEDIATE"); !ok) return ok;
  auto fresh = insert(change);
  if (!fresh) return fresh.error();
  std::size_t dropped = 0;
  auto entries = entries_ + *fresh;
  auto bytes = used();
  while (bytes && entries > 0 && (entries > bounds_.entries || *bytes > bounds_.bytes)) {
    const auto too_many = entries > bounds_.entries ? entries - bounds_.entries : std::max<std::size_t>(entries / 16, 1);
    auto gone = drop(too_many);
    if (!gone) return gone.error();
    if (*gone == 0) break;
    dropped += *gone;
    entries -= std::min(*gone, entries);
    bytes = used();
  }
  if (!bytes) return bytes.error();
  if (auto ok = execute(connection, "COMMIT"); !ok) return ok;
  entries_ = entries;
  bytes_ = *bytes;
  effect.dropped += dropped;
  return {};
}

Result<void> Database::write(const Change& change, Effect& effect) {
  Result<void> done;
  // Broken pages may show themselves only now: then opening it again sets it aside.
  for (int attempt = 1; attempt <= 2; ++attempt) {
    if (!connection_) {
      Contents known;  // to the journal, which has read them or has newer ones
      done = open(0, known);
      if (!known.set_aside.empty()) effect.set_aside = known.set_aside;
      effect.opened = true;
      if (!done) return done;
    }
    done = transact(change, effect);
    if (done) break;
    if (sqlite3_get_autocommit(connection_.get()) == 0) sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    if (wants_reopening(done.error().code)) connection_.reset();
    if (!is_broken(done.error().code)) return done;
  }
  if (done)
    for (const auto& [name, text] : change.documents) known_[name] = text;
  return done;
}

Result<std::vector<JournalEntry>> Database::read(Timestamp since, std::size_t most) {
  if (!connection_) return Error{"rdmend.db is not open"};
  const auto sql = fmt::format("SELECT {} FROM entries WHERE at >= ?1 ORDER BY id DESC LIMIT ?2", kEntryColumns);
  Statement rows(connection_.get(), sql.c_str());
  rows.bind(1, static_cast<std::int64_t>(since.time_since_epoch().count()));
  rows.bind(2, static_cast<std::int64_t>(most));
  std::vector<JournalEntry> out;
  std::size_t bytes = 0;
  while (bytes < kMostRead && rows.step()) {
    out.push_back(entry_of(rows));
    bytes += bytes_of(out.back());
  }
  if (auto ok = rows.result("reading rdmend.db"); !ok) return ok.error();
  return out;
}

}  // namespace rdmend::journal
