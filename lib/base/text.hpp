// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace rdmend {

// A Prometheus duration, "1h30m", "5s", "250ms": whole units, largest first, each once; nullopt otherwise or beyond int64 ms.
std::optional<milliseconds> parse_duration(std::string_view text);
// The shortest Prometheus duration of that length: "1m30s"; 0 is "0s".
std::string format_duration(milliseconds length);
// "2026-11-30T16:20:00.123Z" (RFC 3339, UTC).
std::string format_timestamp(Timestamp at);
// The candidate nearest to `word`, if near enough to be a slip of the finger; empty otherwise.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);
// "did you mean 'expr'?" if one is near, else "legal are: a, b, c".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
std::string_view trim(std::string_view text);
// Of the name of a systemd unit what follows its last dot, which may be nothing; nullopt when no unit can be called so (unit-name.c).
std::optional<std::string_view> unit_suffix(std::string_view name);
std::vector<std::string_view> split(std::string_view text, char separator);
// Bytes that a terminal or a log line could stumble over are shown as \xNN; at most `limit` bytes, then "...".
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace rdmend
