// SPDX-License-Identifier: Apache-2.0
#include "journal/database.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace rdmend::journal {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
constexpr int kSchema = 1;

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, action INTEGER NOT NULL, at INTEGER NOT NULL,"
    " rule TEXT NOT NULL, alert TEXT NOT NULL, value REAL, kind TEXT NOT NULL, target TEXT NOT NULL,"
    " verdict TEXT NOT NULL, reason TEXT NOT NULL, figures TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS documents(name TEXT PRIMARY KEY, text TEXT NOT NULL);";

bool is_broken(int code) { return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB; }

Error failure(sqlite3* connection, const std::string& what) {
  return {fmt::format("{}: {}", what, sqlite3_errmsg(connection)), sqlite3_extended_errcode(connection)};
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
    return failure(connection_, what);
  }

 private:
  void note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }
  sqlite3* connection_;
  CHandle<sqlite3_stmt, sqlite3_finalize> statement_;
  int code_ = SQLITE_OK;
};

Result<void> execute(sqlite3* connection, const char* sql) {
  if (sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failure(connection, "writing rdmend.db");
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Labels labels_of(const std::string& text) {
  std::vector<Labels::Pair> pairs;
  if (const auto json = Json::parse(text, nullptr, false); json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_string()) pairs.emplace_back(name, value.get<std::string>());
  return Labels(std::move(pairs));
}

std::map<std::string, std::string> figures_of(const std::string& text) {
  std::map<std::string, std::string> figures;
  if (const auto json = Json::parse(text, nullptr, false); json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_string()) figures.emplace(name, value.get<std::string>());
  return figures;
}

Verdict verdict_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Verdict::undo_failed); ++i)
    if (name == verdict_name(static_cast<Verdict>(i))) return static_cast<Verdict>(i);
  return Verdict::failed;
}

JournalEntry entry_of(Statement& row) {
  JournalEntry entry;
  entry.id = static_cast<std::uint64_t>(row.integer(0));
  entry.action = static_cast<std::uint64_t>(row.integer(1));
  entry.at = Timestamp{milliseconds{row.integer(2)}};
  entry.rule = row.text(3);
  entry.alert = labels_of(row.text(4));
  entry.value = row.real(5);
  entry.kind = row.text(6);
  entry.target = row.text(7);
  entry.verdict = verdict_of(row.text(8));
  entry.reason = row.text(9);
  entry.figures = figures_of(row.text(10));
  return entry;
}

void bind_entry(Statement& row, const JournalEntry& entry) {
  Json alert = Json::object();
  for (const auto& [name, value] : entry.alert) alert[name] = value;
  row.bind(1, static_cast<std::int64_t>(entry.id));
  row.bind(2, static_cast<std::int64_t>(entry.action));
  row.bind(3, static_cast<std::int64_t>(entry.at.time_since_epoch().count()));
  row.bind(4, entry.rule);
  row.bind(5, dump(alert));
  row.bind(6, entry.value);
  row.bind(7, entry.kind);
  row.bind(8, entry.target);
  row.bind(9, std::string(verdict_name(entry.verdict)));
  row.bind(10, entry.reason);
  row.bind(11, dump(Json(entry.figures)));
}

// Reads everything that the journal starts from; also the first look at the pages that a broken file shows itself by.
Result<std::size_t> load(sqlite3* connection, std::size_t recent, Contents& contents) {
  Statement check(connection, "PRAGMA quick_check(1)");
  if (check.step() && check.text(0) != "ok") return Error{"rdmend.db is broken: " + check.text(0), SQLITE_CORRUPT};
  if (auto ok = check.result("checking rdmend.db"); !ok) return ok.error();

  Statement count(connection, "SELECT count(*), coalesce(max(id), 0) FROM entries");
  count.step();
  if (auto ok = count.result("reading rdmend.db"); !ok) return ok.error();
  contents.last_id = static_cast<std::uint64_t>(count.integer(1));

  Statement rows(connection,
                 "SELECT id, action, at, rule, alert, value, kind, target, verdict, reason, figures FROM"
                 " (SELECT * FROM entries ORDER BY id DESC LIMIT ?1) ORDER BY id");
  rows.bind(1, static_cast<std::int64_t>(recent));
  while (rows.step()) contents.recent.push_back(entry_of(rows));
  if (auto ok = rows.result("reading rdmend.db"); !ok) return ok.error();

  Statement documents(connection, "SELECT name, text FROM documents");
  while (documents.step()) contents.documents[documents.text(0)] = documents.text(1);
  if (auto ok = documents.result("reading rdmend.db"); !ok) return ok.error();
  return static_cast<std::size_t>(count.integer(0));
}

Result<int> schema_of(sqlite3* connection) {
  Statement version(connection, "PRAGMA user_version");
  const bool row = version.step();
  if (auto ok = version.result("opening rdmend.db"); !ok) return ok.error();
  return row ? static_cast<int>(version.integer(0)) : 0;
}

Result<void> prepare(sqlite3* connection) {
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, 2000);
  auto schema = schema_of(connection);
  if (!schema) return schema.error();
  if (*schema > kSchema)
    return Error{fmt::format("rdmend.db was written by a newer rdmend (schema {}, this one knows {})", *schema, kSchema)};
  // A power loss must not take what put() called durable: in WAL mode only FULL syncs at each commit.
  for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-256", kTables, "PRAGMA user_version=1"})
    if (auto ok = execute(connection, sql); !ok) return ok;
  return {};
}

// Moves the broken file, with the log that belongs to it, out of the way.
Result<std::string> set_aside(const std::string& path) {
  std::error_code error;
  for (int n = 1; n <= 1000; ++n) {
    const auto target = fmt::format("{}.broken-{}", path, n);
    if (fs::exists(target, error)) continue;
    fs::rename(path, target, error);
    if (error) return errno_error("setting aside " + path, error.value());
    fs::rename(path + "-wal", target + "-wal", error);
    fs::remove(path + "-shm", error);
    return target;
  }
  return Error{path + " is broken, and there are 1000 broken ones beside it already"};
}

}  // namespace

Result<Database> Database::open(const std::string& directory, std::size_t recent, Contents& contents) {
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  const auto path = directory + "/rdmend.db";
  for (bool second_try = false;; second_try = true) {
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    Connection connection(raw);
    if (code != SQLITE_OK)
      return Error{fmt::format("opening {}: {}", path, raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code)), code};
    auto ready = prepare(raw);
    auto rows = ready ? load(raw, recent, contents) : Result<std::size_t>(ready.error());
    if (rows) return Database(std::move(connection), directory, *rows);
    if (!is_broken(rows.error().code) || second_try) return rows.error().within(path);
    connection.reset();
    auto aside = set_aside(path);
    if (!aside) return aside.error();
    contents = {};
    contents.set_aside = fmt::format("{} ({})", *aside, rows.error().message);
  }
}

Result<void> Database::transact(const Change& change, std::size_t most_entries) {
  auto* connection = connection_.get();
  if (auto ok = execute(connection, "BEGIN IMMEDIATE"); !ok) return ok;
  Statement insert(connection, "INSERT OR REPLACE INTO entries VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)");
  for (const auto& entry : change.entries) {
    insert.reset();
    bind_entry(insert, entry);
    insert.step();
    if (auto ok = insert.result("writing rdmend.db"); !ok) return ok;
  }
  Statement document(connection, "INSERT OR REPLACE INTO documents VALUES(?1,?2)");
  for (const auto& [name, text] : change.documents) {
    document.reset();
    document.bind(1, name);
    document.bind(2, text);
    document.step();
    if (auto ok = document.result("writing rdmend.db"); !ok) return ok;
  }
  const auto total = entries_ + change.entries.size();
  if (total > most_entries) {
    Statement trim(connection, "DELETE FROM entries WHERE id IN (SELECT id FROM entries ORDER BY id LIMIT ?1)");
    trim.bind(1, static_cast<std::int64_t>(total - most_entries));
    trim.step();
    if (auto ok = trim.result("writing rdmend.db"); !ok) return ok;
  }
  if (auto ok = execute(connection, "COMMIT"); !ok) return ok;
  entries_ = std::min(total, most_entries);
  return {};
}

Result<void> Database::write(const Change& change, std::size_t most_entries, bool& replaced) {
  auto done = transact(change, most_entries);
  if (done) return done;
  if (connection_ && sqlite3_get_autocommit(connection_.get()) == 0)
    sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  if (!is_broken(done.error().code)) return done;
  connection_.reset();
  if (auto aside = set_aside(directory_ + "/rdmend.db"); !aside) return aside.error();
  Contents nothing;
  auto fresh = open(directory_, 0, nothing);
  if (!fresh) return fresh.error();
  *this = std::move(*fresh);
  replaced = true;
  return transact(change, most_entries);
}

}  // namespace rdmend::journal
