// SPDX-License-Identifier: Apache-2.0
#include "journal/rows.hpp"

#include <nlohmann/json.hpp>

namespace rdmend::journal {
namespace {

using Json = nlohmann::json;

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

}  // namespace

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

Result<void> put_documents(sqlite3* connection, const std::map<std::string, std::string>& documents, std::uint64_t last_id) {
  Statement document(connection, "INSERT OR REPLACE INTO documents VALUES(?1,?2)");
  const auto put = [&](const std::string& name, const std::string& text) {
    document.reset();
    document.bind(1, name);
    document.bind(2, text);
    document.step();
  };
  for (const auto& [name, text] : documents) put(name, text);
  put("last_id", std::to_string(last_id));
  return document.result("writing rdmend.db");
}

std::size_t bytes_of(const JournalEntry& entry) {
  std::size_t bytes = sizeof entry + entry.rule.size() + entry.kind.size() + entry.target.size() + entry.reason.size();
  for (const auto& [name, value] : entry.alert) bytes += 2 * sizeof(std::string) + name.size() + value.size();
  for (const auto& [name, value] : entry.figures) bytes += 3 * sizeof(std::string) + name.size() + value.size();
  return bytes;
}

}  // namespace rdmend::journal
