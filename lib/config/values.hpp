// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "config/config.hpp"
#include "yaml/reader.hpp"

// The values of the configuration that are more than a number or a word: each is checked here and its fault reported.
namespace rdmend::config {

std::optional<Listen> read_listen(yaml::Reader& reader, const yaml::Node& node);
std::optional<std::string> read_url(yaml::Reader& reader, const yaml::Node& node, std::string_view name);
std::optional<std::string> read_absolute_path(yaml::Reader& reader, const yaml::Node& node, std::string_view name);
std::optional<std::vector<std::string>> read_regexes(yaml::Reader& reader, const yaml::Node& node, std::string_view name);
std::optional<std::vector<std::string>> read_globs(yaml::Reader& reader, const yaml::Node& node, std::string_view name);
// One of `legal`.
std::optional<std::string> read_word(yaml::Reader& reader, const yaml::Node& node, std::string_view name,
                                     std::span<const std::string_view> legal);
Labels read_labels(yaml::Reader& reader, const yaml::Node& node, std::string_view name, Labels defaults);
std::optional<Alertmanager> read_alertmanager(yaml::Reader& reader, const yaml::Node& node);

}  // namespace rdmend::config
