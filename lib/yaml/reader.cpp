// SPDX-License-Identifier: Apache-2.0
#include "yaml/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace rdmend::yaml {
namespace {

constexpr std::string_view kDurationHint = "a duration is written like 250ms, 30s or 1h30m";

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

void Reader::error(Position at, std::string what, std::string hint) {
  diagnostics_.error(file_, at, std::move(what), std::move(hint));
}
void Reader::warning(Position at, std::string what, std::string hint) {
  diagnostics_.warning(file_, at, std::move(what), std::move(hint));
}

bool Reader::expect(const Node& node, Node::Kind kind, std::string_view name) {
  if (node.kind == kind) return true;
  error(node.at, fmt::format("{}: expected {}, found {}", name, kind_name(kind), kind_name(node.kind)));
  return false;
}

void Reader::map(const Node& node, std::string_view name, const Handlers& handlers) {
  each(node, name, [&](const Entry& entry) {
    for (const auto& [key, handler] : handlers)
      if (key == entry.key) return handler(entry);
    std::vector<std::string_view> legal;
    for (const auto& [key, handler] : handlers) legal.push_back(key);
    error(entry.at, fmt::format("unknown key '{}'", printable(entry.key, 64)), did_you_mean(entry.key, legal));
  });
}

void Reader::each(const Node& node, std::string_view name, const Handler& handler) {
  if (node.kind == Node::Kind::null || !expect(node, Node::Kind::map, name)) return;
  for (const Entry& entry : node.entries) handler(entry);
}

void Reader::list(const Node& node, std::string_view name, const std::function<void(const Node&)>& handler) {
  if (node.kind == Node::Kind::null || !expect(node, Node::Kind::list, name)) return;
  for (const Node& item : node.items) handler(item);
}

std::optional<std::string> Reader::text(const Node& node, std::string_view name) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  return node.text;
}

std::optional<std::vector<std::string>> Reader::texts(const Node& node, std::string_view name) {
  if (node.kind != Node::Kind::null && !expect(node, Node::Kind::list, name)) return std::nullopt;
  std::vector<std::string> out;
  bool sound = true;
  for (const Node& item : node.items) {
    auto value = text(item, name);
    sound = sound && value.has_value();
    if (value) out.push_back(std::move(*value));
  }
  if (!sound) return std::nullopt;
  return out;
}

std::optional<bool> Reader::boolean(const Node& node, std::string_view name) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  if (node.plain && node.text == "true") return true;
  if (node.plain && node.text == "false") return false;
  error(node.at, fmt::format("{}: '{}' is not a boolean", name, printable(node.text, 64)), "legal are: true, false");
  return std::nullopt;
}

std::optional<double> Reader::number(const Node& node, std::string_view name, double least, double most) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, fault] = std::from_chars(node.text.data(), end, value);
  if (fault != std::errc{} || stop != end) {
    error(node.at, fmt::format("{}: '{}' is not a number", name, printable(node.text, 64)));
    return std::nullopt;
  }
  if (!(value >= least && value <= most)) {
    error(node.at, fmt::format("{}: {} is out of range", name, printable(node.text, 64)), fmt::format("legal is {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> Reader::count(const Node& node, std::string_view name, std::uint64_t least, std::uint64_t most) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  const auto value = whole(node.text);
  if (!value) {
    error(node.at, fmt::format("{}: '{}' is not a whole number", name, printable(node.text, 64)));
    return std::nullopt;
  }
  if (*value < least || *value > most) {
    error(node.at, fmt::format("{}: {} is out of range", name, *value), fmt::format("legal is {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> Reader::bytes(const Node& node, std::string_view name, std::uint64_t least, std::uint64_t most) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  constexpr std::pair<std::string_view, unsigned> kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"", 0}};
  const std::string_view written = node.text;
  for (const auto& [unit, shift] : kUnits) {
    if (!written.ends_with(unit)) continue;
    const auto value = whole(trim(written.substr(0, written.size() - unit.size())));
    if (!value) break;
    if (*value > (most >> shift) || (*value << shift) < least) {
      error(node.at, fmt::format("{}: {} is out of range", name, printable(written, 64)), fmt::format("legal is {} to {} bytes", least, most));
      return std::nullopt;
    }
    return *value << shift;
  }
  error(node.at, fmt::format("{}: '{}' is not a size", name, printable(written, 64)), "a size is written like 64MiB, 512KiB or 1048576");
  return std::nullopt;
}

std::optional<milliseconds> Reader::duration(const Node& node, std::string_view name, milliseconds least, milliseconds most) {
  if (!expect(node, Node::Kind::scalar, name)) return std::nullopt;
  const auto value = parse_duration(node.text);
  if (!value) {
    error(node.at, fmt::format("{}: '{}' is not a duration", name, printable(node.text, 64)), std::string(kDurationHint));
    return std::nullopt;
  }
  if (*value < least || *value > most) {
    error(node.at, fmt::format("{}: {} is out of range", name, printable(node.text, 64)),
          fmt::format("legal is {} to {}", format_duration(least), format_duration(most)));
    return std::nullopt;
  }
  return value;
}

}  // namespace rdmend::yaml
