// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace rdmend::yaml {

struct Entry;

// A YAML document as plain structs with the position of everything, aliases and merge keys (<<) resolved.
struct Node {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  Position at;
  std::size_t offset = 0;  // of its first byte in the source
  bool plain = false;      // a scalar that was neither quoted nor a block
  std::string text;        // of a scalar
  std::vector<Node> items;
  std::vector<Entry> entries;

  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] std::size_t weight() const;  // nodes in it, itself included
};
struct Entry {
  std::string key;
  Position at;  // of the key
  Node value;
};
const char* kind_name(Node::Kind kind);  // "a list"

inline constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMostNodes = 100'000;  // aliases counted as often as they are used
inline constexpr std::size_t kMostDepth = 64;

// One document (an empty file is a null node). Syntax faults, duplicate keys and whatever exceeds the limits go to
// `diagnostics`; nullopt when there is no tree to go on with.
std::optional<Node> parse(const std::string& file, const std::string& source, Diagnostics& diagnostics);

// Where in `source` the character stands that is at line and column `inside` of the scalar's text: through quotes, escapes,
// folded lines and block scalars. The scalar's own position when that cannot be told.
Position locate(const std::string& source, const Node& scalar, Position inside);

}  // namespace rdmend::yaml
