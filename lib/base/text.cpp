// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>

namespace rdmend {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t length;  // milliseconds
};
constexpr std::array<Unit, 7> kUnits{{{"y", 31'536'000'000},
                                      {"w", 604'800'000},
                                      {"d", 86'400'000},
                                      {"h", 3'600'000},
                                      {"m", 60'000},
                                      {"s", 1'000},
                                      {"ms", 1}}};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return milliseconds{0};
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    std::int64_t count = 0;
    std::size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) {
      if (__builtin_mul_overflow(count, 10, &count) || __builtin_add_overflow(count, text[digits] - '0', &count))
        return std::nullopt;
      ++digits;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    std::size_t letters = 0;
    while (letters < text.size() && std::isalpha(static_cast<unsigned char>(text[letters]))) ++letters;
    const auto name = text.substr(0, letters);
    const auto* unit = std::find_if(kUnits.begin() + next_unit, kUnits.end(), [&](const Unit& u) { return u.name == name; });
    if (unit == kUnits.end()) return std::nullopt;
    if (__builtin_mul_overflow(count, unit->length, &count) || __builtin_add_overflow(total, count, &total))
      return std::nullopt;
    next_unit = static_cast<std::size_t>(unit - kUnits.begin()) + 1;
    text.remove_prefix(letters);
  }
  return milliseconds{total};
}

std::string format_duration(milliseconds length) {
  std::int64_t rest = length.count();
  if (rest == 0) return "0s";
  std::string out;
  if (rest < 0) {
    out = "-";
    rest = -rest;
  }
  for (const auto& unit : kUnits) {
    // Years and weeks only when they come out even, as Prometheus prints them.
    if ((unit.name == "y" || unit.name == "w") && rest % unit.length != 0) continue;
    if (const auto count = rest / unit.length; count > 0) out += fmt::format("{}{}", count, unit.name);
    rest %= unit.length;
  }
  return out;
}

std::string format_timestamp(Timestamp at) {
  const auto whole = std::chrono::floor<seconds>(at);
  const auto fraction = (at - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), fraction);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto candidate : candidates)
    if (const auto distance = edit_distance(word, candidate); distance < least && distance < candidate.size()) {
      least = distance;
      best = candidate;
    }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (const auto best = nearest(word, candidates); !best.empty()) return fmt::format("did you mean '{}'?", best);
  return fmt::format("legal are: {}", fmt::join(candidates, ", "));
}

std::optional<std::string_view> unit_suffix(std::string_view name) {
  constexpr std::size_t kMostUnitName = 255;
  constexpr std::string_view kInName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() > kMostUnitName || name.find_first_not_of(kInName) != std::string_view::npos)
    return std::nullopt;
  return name.substr(dot + 1);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace rdmend
