// SPDX-License-Identifier: Apache-2.0
#include "advice/timers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace rdmend::advice {
namespace {

constexpr std::array<std::int64_t, 32> kRnrMicroseconds{
    655'360, 10,    20,    30,    40,     60,     80,     120,    160,    240,    320,
    480,     640,   960,   1'280, 1'920,  2'560,  3'840,  5'120,  7'680,  10'240, 15'360,
    20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

constexpr auto kByDuration = [] {
  std::array<std::uint8_t, 32> codes{};
  for (std::uint8_t i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>((i + 1) % 32);
  return codes;
}();
static_assert(std::is_sorted(kByDuration.begin(), kByDuration.end(),
                             [](auto a, auto b) { return kRnrMicroseconds[a] < kRnrMicroseconds[b]; }));

constexpr nanoseconds kAckUnit{4096};

std::string number(double value) {
  // Three digits that count, without an exponent or trailing zeros: 0.64, 8.59, 67.1, 1099.
  const int before = value < 1 ? 0 : static_cast<int>(std::floor(std::log10(value))) + 1;
  auto text = fmt::format("{:.{}f}", value, std::max(0, (value < 1 ? 2 : 3) - before));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

microseconds rnr_timer(std::uint8_t code) { return microseconds{kRnrMicroseconds[code & kMostTimerCode]}; }

std::span<const std::uint8_t> rnr_codes_by_duration() { return kByDuration; }

std::optional<std::uint8_t> rnr_code_at_least(microseconds duration) {
  for (const auto code : kByDuration)
    if (rnr_timer(code) >= duration) return code;
  return std::nullopt;
}

std::optional<std::uint8_t> rnr_code_at_most(microseconds duration) {
  std::optional<std::uint8_t> longest;
  for (const auto code : kByDuration)
    if (rnr_timer(code) <= duration) longest = code;
  return longest;
}

std::string rnr_code_text(std::uint8_t code) {
  return fmt::format("code {} ({:g} ms)", code & kMostTimerCode, static_cast<double>(rnr_timer(code).count()) / 1000.0);
}

std::optional<nanoseconds> ack_timeout(std::uint8_t code) {
  code &= kMostTimerCode;
  if (code == 0) return std::nullopt;
  return kAckUnit * (std::int64_t{1} << code);
}

std::optional<std::uint8_t> ack_timeout_code_at_least(nanoseconds duration) {
  for (std::uint8_t code = 1; code <= kMostTimerCode; ++code)
    if (*ack_timeout(code) >= duration) return code;
  return std::nullopt;
}

std::uint8_t ack_timeout_code_for(std::uint8_t packet_life_time, std::uint8_t ack_delay, unsigned margin_percent) {
  const auto time = [](std::uint8_t code) {
    return std::ldexp(4096.0, std::min<int>(code, 63));  // nanoseconds; the fields have 6 bits at most
  };
  const double sum = (2 * time(packet_life_time) + time(ack_delay)) * (1.0 + margin_percent / 100.0);
  if (sum > static_cast<double>(ack_timeout(kMostTimerCode)->count())) return kMostTimerCode;
  return ack_timeout_code_at_least(nanoseconds{static_cast<std::int64_t>(std::ceil(sum))}).value_or(kMostTimerCode);
}

std::optional<Budget> retry_budget(std::uint8_t timeout_code, std::uint8_t retry_cnt) {
  const auto once = ack_timeout(timeout_code);
  if (!once) return std::nullopt;
  const int tries = std::min(retry_cnt, kMostRetries) + 1;
  return Budget{*once * tries, *once * tries * 4};
}

std::string ack_timeout_text(std::uint8_t code) {
  const auto once = ack_timeout(code);
  return once ? fmt::format("code {} ({})", code & kMostTimerCode, short_time(*once)) : "code 0 (infinite)";
}

std::string short_time(nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  if (ns >= 1e9) return number(ns / 1e9) + " s";
  if (ns >= 1e5) return number(ns / 1e6) + " ms";
  return number(ns / 1e3) + " us";
}

std::optional<microseconds> parse_fine_duration(std::string_view text) {
  constexpr microseconds kMost = std::chrono::hours{24};
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  std::optional<microseconds> fine;
  if (error == std::errc{} && value >= 0 && value < 1e12) {
    const double scale = unit == "us" ? 1 : unit == "ms" ? 1e3 : unit == "s" ? 1e6 : 0;
    if (scale > 0) fine = microseconds{std::llround(std::min(value * scale, 1e15))};
  }
  if (!fine)
    if (const auto coarse = parse_duration(text)) fine = std::min<milliseconds>(*coarse, std::chrono::hours{48});
  if (!fine || fine->count() < 1 || *fine > kMost) return std::nullopt;
  return fine;
}

}  // namespace rdmend::advice
