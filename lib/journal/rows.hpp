// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements and rows of the journal's file; included by database*.cpp and rows.cpp alone.
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "base/c_handle.hpp"
#include "base/result.hpp"
#include "model/outcome.hpp"

namespace rdmend::journal {

inline bool is_broken(int code) { return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB; }

inline Error sqlite_error(sqlite3* connection, const std::string& what) {
  return {what + ": " + sqlite3_errmsg(connection), sqlite3_extended_errcode(connection)};
}

// A prepared statement; the first error is kept, so that a row's bindings need no check each.
class Statement {
 public:
  Statement(sqlite3* connection, const char* sql) : connection_(connection) {
    sqlite3_stmt* raw = nullptr;
    code_ = sqlite3_prepare_v2(connection, sql, -1, &raw, nullptr);
    statement_.reset(raw);
  }
  void bind(int at, std::int64_t value) { note(sqlite3_bind_int64(statement_.get(), at, value)); }
  void bind(int at, double value) { note(sqlite3_bind_double(statement_.get(), at, value)); }
  void bind(int at, const std::string& text) {
    note(sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  // True while there is a row.
  bool step() {
    if (code_ != SQLITE_OK) return false;
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) code_ = code;
    return code == SQLITE_ROW;
  }
  void reset() {
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
  }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  // SQLite has no NaN: it keeps one as NULL.
  double real(int column) {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL ? std::numeric_limits<double>::quiet_NaN()
                                                                        : sqlite3_column_double(statement_.get(), column);
  }
  std::string text(int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
  }
  Result<void> result(const std::string& what) const {
    if (code_ == SQLITE_OK) return {};
    return sqlite_error(connection_, what);
  }

 private:
  void note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }
  sqlite3* connection_;
  CHandle<sqlite3_stmt, sqlite3_finalize> statement_;
  int code_ = SQLITE_OK;
};

inline Result<void> execute(sqlite3* connection, const char* sql) {
  if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(connection, "writing rdmend.db");
}

// With the highest id that was ever given, which is a row among them.
Result<void> put_documents(sqlite3* connection, const std::map<std::string, std::string>& documents, std::uint64_t last_id);

// The columns of a row of `entries` are those of kEntryColumns, in that order.
inline constexpr const char* kEntryColumns = "id, action, at, rule, alert, value, kind, target, verdict, reason, figures";
JournalEntry entry_of(Statement& row);
void bind_entry(Statement& row, const JournalEntry& entry);

// What an entry takes in memory and, roughly, on disk.
std::size_t bytes_of(const JournalEntry& entry);

}  // namespace rdmend::journal
