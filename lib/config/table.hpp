// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "config/config.hpp"
#include "yaml/reader.hpp"

namespace rdmend::config {

// A key: how it is told to people, how it is read, how its value is shown. A row without `read` belongs to the items of a list.
struct Field {
  std::string_view path, type, help;
  void (*read)(yaml::Reader& reader, const yaml::Node& node, std::string_view path, Config& config);
  std::string (*show)(const Config& config);
};
std::span<const Field> fields();

// Keys that belong to a later version: refused by name, so that nobody believes they work.
struct LaterKey {
  std::string_view path, why;
};
std::span<const LaterKey> later_keys();

}  // namespace rdmend::config
