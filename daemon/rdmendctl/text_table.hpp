// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rdmend::ctl {

// Columns as wide as their widest cell; the last one as it comes. Cells are made harmless for a terminal.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row);
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  void print() const;
  // The sentence where there are no rows.
  void print_or(const char* sentence) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A member of an object as a person reads it: texts bare, numbers as they are, "-" for none, null and "".
std::string cell(const nlohmann::json& object, const char* name);
// "device=rxe2 port=1", without the alert's name.
std::string labels_text(const nlohmann::json& labels);
// "2026-11-30 17:03:12" of the RFC 3339 text that the daemon sends (UTC); "-" for null.
std::string time_text(const nlohmann::json& at);
// "2m3s", from then to now, at least 0s; "-" for null.
std::string age_text(const nlohmann::json& at);
// "1h2m3s", whole seconds.
std::string length_text(double in_seconds);

}  // namespace rdmend::ctl
