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
std::optional<std::vector<std::string>> read_units(yaml::Reader& reader, const yaml::Node& node, std::string_view name);
// What is wrong with the text of a PEM file, if anything.
using PemFault = std::optional<std::string> (*)(const std::string& pem);
// The text of the PEM file that an entry names; "" after a fault.
std::string read_pem(yaml::Reader& reader, const yaml::Entry& entry, std::string_view name, PemFault fault_of);
// One of `legal`.
std::optional<std::string> read_word(yaml::Reader& reader, const yaml::Node& node, std::string_view name,
                                     std::span<const std::string_view> legal);
Labels read_labels(yaml::Reader& reader, const yaml::Node& node, std::string_view name, Labels defaults);
std::optional<Alertmanager> read_alertmanager(yaml::Reader& reader, const yaml::Node& node);

}  // namespace rdmend::config
