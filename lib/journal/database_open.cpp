// SPDX-License-Identifier: Apache-2.0
// Opening the file, and what to do when it is broken or cannot be written.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "journal/database.hpp"
#include "journal/rows.hpp"

namespace rdmend::journal {
namespace {

namespace fs = std::filesystem;
constexpr int kSchema = 1;

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, action INTEGER NOT NULL, at INTEGER NOT NULL,"
    " rule TEXT NOT NULL, alert TEXT NOT NULL, value REAL, kind TEXT NOT NULL, target TEXT NOT NULL,"
    " verdict TEXT NOT NULL, reason TEXT NOT NULL, figures TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS documents(name TEXT PRIMARY KEY, text TEXT NOT NULL);"
    "PRAGMA user_version=1";

Result<void> check(sqlite3* connection) {
  Statement check(connection, "PRAGMA quick_check(1)");
  if (check.step() && check.text(0) != "ok") return Error{"rdmend.db is broken: " + check.text(0), SQLITE_CORRUPT};
  return check.result("checking rdmend.db");
}

Result<std::size_t> load_entries(sqlite3* connection, std::size_t recent, Contents& contents) {
  Statement count(connection, "SELECT count(*), coalesce(max(id), 0) FROM entries");
  count.step();
  if (auto ok = count.result("reading rdmend.db"); !ok) return ok.error();
  contents.last_id = std::max(contents.last_id, static_cast<std::uint64_t>(count.integer(1)));
  const auto sql = fmt::format("SELECT {} FROM (SELECT * FROM entries ORDER BY id DESC LIMIT ?1) ORDER BY id", kEntryColumns);
  Statement rows(connection, sql.c_str());
  rows.bind(1, static_cast<std::int64_t>(recent));
  while (rows.step()) contents.recent.push_back(entry_of(rows));
  if (auto ok = rows.result("reading rdmend.db"); !ok) return ok.error();
  return static_cast<std::size_t>(count.integer(0));
}

// The highest id that was ever given is a row among the documents: an action has one before any entry bears it.
Result<void> load_documents(sqlite3* connection, Contents& contents) {
  Statement documents(connection, "SELECT name, text FROM documents");
  while (documents.step()) {
    const auto text = documents.text(1);
    if (documents.text(0) != "last_id") {
      contents.documents[documents.text(0)] = text;
      continue;
    }
    std::uint64_t id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    contents.last_id = std::max(contents.last_id, id);
  }
  return documents.result("reading rdmend.db");
}

// Also the first look at the pages that a broken file shows itself by. What can be read of the documents is read first
// and kept whatever else is broken: an undo that is due may be among them.
Result<std::size_t> load(sqlite3* connection, std::size_t recent, Contents& contents) {
  auto documents = load_documents(connection, contents);
  if (auto whole = check(connection); !whole) return whole.error();
  if (!documents) return documents.error();
  return load_entries(connection, recent, contents);
}

Result<int> schema_of(sqlite3* connection) {
  Statement version(connection, "PRAGMA user_version");
  const bool row = version.step();
  if (auto ok = version.result("opening rdmend.db"); !ok) return ok.error();
  const int schema = row ? static_cast<int>(version.integer(0)) : 0;
  if (schema <= kSchema) return schema;
  return Error{fmt::format("rdmend.db was written by a newer rdmend (schema {}, this one knows {})", schema, kSchema)};
}

Result<void> prepare(sqlite3* connection) {
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, 2000);
  auto schema = schema_of(connection);
  if (!schema) return schema.error();
  if (sqlite3_db_readonly(connection, "main") == 1) return Error{"rdmend.db cannot be written: it, or its disk, is read-only", SQLITE_READONLY};
  // A power loss must not take what put() called durable: in WAL mode only FULL syncs at each commit.
  for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-256"})
    if (auto ok = execute(connection, sql); !ok) return ok;
  return *schema == kSchema ? Result<void>{} : execute(connection, kTables);
}

// How a file is opened that is only to be read. One that was closed in good order has no log, and its disk may not let
// SQLite make the index of one; one with a log has that index too.
std::string read_only_uri(const std::string& path) {
  std::string escaped;
  for (const char c : path) escaped += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  std::error_code error;
  const auto log = fs::file_size(path + "-wal", error);
  return "file:" + escaped + (error || log == 0 ? "?immutable=1" : "?readonly_shm=1");
}

}  // namespace

// Begins a new file, beside the broken one, with the documents that are known. Where it stands under its name
// `rdmend.db.new` it is whole, and finish_setting_aside() does the rest: so a kill at any point loses nothing.
Result<void> Database::begin_anew(const Contents& contents) const {
  const auto making = path() + ".making";
  std::error_code error;
  fs::remove(making, error);
  fs::remove(making + "-journal", error);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(making.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(raw);
  if (code != SQLITE_OK) return Error{fmt::format("opening {}: {}", making, sqlite3_errstr(code)), code};
  for (const char* sql : {"PRAGMA synchronous=FULL", "BEGIN", kTables})
    if (auto ok = execute(raw, sql); !ok) return ok;
  if (auto ok = put_documents(raw, contents.documents, contents.last_id); !ok) return ok;
  if (auto ok = execute(raw, "COMMIT"); !ok) return ok;
  connection.reset();
  fs::rename(making, path() + ".new", error);
  return error ? errno_error("renaming " + making, error.value()) : Result<void>{};
}

// Moves the broken file, with the log that belongs to it, out of the way, and the new one into its place. Returns where
// the broken one went; "" when there is nothing to be done.
Result<std::string> Database::finish_setting_aside() const {
  std::error_code error;
  if (!fs::exists(path() + ".new", error)) return std::string();
  std::string target;
  std::string went = target;
  for (int n = 1; n <= 1000 && target.empty(); ++n) {
    const auto one = fmt::format("{}.broken-{}", path(), n);
    (fs::exists(one, error) ? went : target) = one;
  }
  if (target.empty()) return Error{path() + " is broken, and there are 1000 broken ones beside it already"};
  // The log first: beside the new file it would be taken for the new file's.
  for (const char* part : {"-wal", ""})
    if (fs::exists(path() + part, error)) {
      fs::rename(path() + part, target + part, error);
      if (error) return errno_error("setting aside " + path() + part, error.value());
      went = target;
    }
  fs::remove(path() + "-shm", error);
  fs::rename(path() + ".new", path(), error);
  if (error) return errno_error("setting aside " + path(), error.value());
  return went;
}

Result<void> Database::open_whole(std::size_t recent, Contents& contents) {
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path().c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(raw);
  if (code != SQLITE_OK)
    return Error{fmt::format("opening {}: {}", path(), raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code)), code};
  if (auto ready = prepare(raw); !ready) return ready.error().within(path());
  auto rows = load(raw, recent, contents);
  if (!rows) return rows.error().within(path());
  connection_ = std::move(connection);
  entries_ = *rows;
  if (const auto bytes = used()) bytes_ = *bytes;
  return {};
}

// A disk that cannot be written may well be read: what is due must be known.
void Database::read_what_is_there(std::size_t recent, Contents& contents) const {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(read_only_uri(path()).c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  const Connection connection(raw);
  contents.read = code == SQLITE_OK && schema_of(raw) && load(raw, recent, contents);
}

Result<void> Database::open(std::size_t recent, Contents& contents) {
  auto former = finish_setting_aside();
  auto opened = former ? open_whole(recent, contents) : Result<void>(former.error());
  if (former && !former->empty()) contents.set_aside = *former + " (a former rdmend began it)";
  if (!opened && !is_broken(opened.error().code)) {
    read_what_is_there(recent, contents);
    return opened;
  }
  if (!opened) {
    for (const auto& [name, text] : known_) contents.documents[name] = text;
    if (auto begun = begin_anew(contents); !begun) return begun;
    auto aside = finish_setting_aside();
    if (!aside) return aside.error();
    contents.recent.clear();
    contents.set_aside = fmt::format("{} ({})", *aside, opened.error().message);
    if (auto again = open_whole(recent, contents); !again) return again;
  }
  contents.read = true;
  known_.insert(contents.documents.begin(), contents.documents.end());  // those that we wrote are newer
  return {};
}

}  // namespace rdmend::journal
