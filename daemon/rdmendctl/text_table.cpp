// SPDX-License-Identifier: Apache-2.0
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/text.hpp"

namespace rdmend::ctl {

using nlohmann::json;

void TextTable::add(std::vector<std::string> row) {
  for (auto& text : row) text = printable(text, 400);
  rows_.push_back(std::move(row));
}

void TextTable::print() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
    fmt::print("{}\n", line);
  }
}

void TextTable::print_or(const char* sentence) const {
  if (empty())
    fmt::print("{}\n", sentence);
  else
    print();
}

std::string cell(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string())
    return found->get_ref<const std::string&>().empty() ? "-" : found->get<std::string>();
  return found->is_number_float() ? fmt::format("{}", found->get<double>()) : found->dump();
}

std::string labels_text(const json& labels) {
  std::string out;
  for (const auto& [name, value] : labels.items())
    if (name != "alertname")
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value.get<std::string>());
  return out.empty() ? "-" : out;
}

std::string time_text(const json& at) {
  if (!at.is_string()) return "-";
  auto text = at.get<std::string>().substr(0, 19);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

std::string age_text(const json& at) {
  std::tm broken{};
  if (!at.is_string() ||
      strptime(at.get_ref<const std::string&>().c_str(), "%Y-%m-%dT%H:%M:%S", &broken) == nullptr)
    return "-";
  return length_text(std::max(0.0, std::difftime(std::time(nullptr), timegm(&broken))));
}

std::string length_text(double in_seconds) {
  return format_duration(seconds{static_cast<std::int64_t>(std::floor(in_seconds))});
}

}  // namespace rdmend::ctl
