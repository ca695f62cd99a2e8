// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "yaml/document.hpp"

namespace rdmend::yaml {

// Takes typed values out of a tree and says of each fault where it is and what would be right. `name` is how the message
// calls the value: "devices.include". Every reading function returns nullopt after it reported a fault.
class Reader {
 public:
  using Handler = std::function<void(const Entry& entry)>;
  using Handlers = std::vector<std::pair<std::string_view, Handler>>;

  Reader(std::string file, Diagnostics& diagnostics) : file_(std::move(file)), diagnostics_(diagnostics) {}

  void error(Position at, std::string what, std::string hint = {});
  void warning(Position at, std::string what, std::string hint = {});
  [[nodiscard]] const std::string& file() const { return file_; }

  // Hands each entry to the handler of its key; an unknown key is an error. A null counts as an empty map.
  void map(const Node& node, std::string_view name, const Handlers& handlers);
  // Any keys at all.
  void each(const Node& node, std::string_view name, const Handler& handler);
  void list(const Node& node, std::string_view name, const std::function<void(const Node& item)>& handler);

  std::optional<std::string> text(const Node& node, std::string_view name);
  std::optional<std::vector<std::string>> texts(const Node& node, std::string_view name);
  std::optional<bool> boolean(const Node& node, std::string_view name);
  std::optional<double> number(const Node& node, std::string_view name, double least, double most);
  std::optional<std::uint64_t> count(const Node& node, std::string_view name, std::uint64_t least,
                                     std::uint64_t most = std::numeric_limits<std::int64_t>::max());
  // "64MiB", "512KiB", "1GiB" or a number of bytes.
  std::optional<std::uint64_t> bytes(const Node& node, std::string_view name, std::uint64_t least, std::uint64_t most);
  std::optional<milliseconds> duration(const Node& node, std::string_view name, milliseconds least = milliseconds{0},
                                       milliseconds most = std::chrono::days{36500});

 private:
  bool expect(const Node& node, Node::Kind kind, std::string_view name);

  std::string file_;
  Diagnostics& diagnostics_;
};

}  // namespace rdmend::yaml
