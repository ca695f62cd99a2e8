// SPDX-License-Identifier: Apache-2.0
#include "rules/remedy_list.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace rdmend::rules {
namespace {

using yaml::Entry;
using yaml::Node;

constexpr std::string_view kForm = "a step is written like - raise_min_rnr_timer: {factor: 4, ceiling: 10ms}";
constexpr std::size_t kMostRemedies = 16;

void read_param(yaml::Reader& reader, const Entry& entry, RemedySpec& spec) {
  RemedyParam param;
  param.name = entry.key;
  param.at = entry.at;
  param.value_at = entry.value.at;
  const std::string name = fmt::format("{}.{}", spec.kind, printable(entry.key, 64));
  if (entry.value.kind == Node::Kind::list) {
    param.is_list = true;
    auto values = reader.texts(entry.value, name);
    if (!values) return;
    param.values = std::move(*values);
  } else {
    auto value = reader.text(entry.value, name);
    if (!value) return;
    param.values.push_back(std::move(*value));
  }
  spec.params.push_back(std::move(param));
}

void read_step(yaml::Reader& reader, const Node& node, std::vector<RemedySpec>& out) {
  RemedySpec spec;
  spec.file = reader.file();
  spec.at = node.at;
  if (node.kind == Node::Kind::scalar) {
    spec.kind = node.text;
  } else if (node.kind == Node::Kind::map && node.entries.size() == 1) {
    const Entry& only = node.entries.front();
    spec.kind = only.key;
    spec.at = only.at;
    reader.each(only.value, only.key, [&](const Entry& entry) { read_param(reader, entry, spec); });
  } else {
    reader.error(node.at, node.kind == Node::Kind::map ? fmt::format("remedy: a step names one kind, this has {} keys", node.entries.size())
                                                       : fmt::format("remedy: a step is a kind with its parameters, not {}", yaml::kind_name(node.kind)),
                 std::string(kForm));
    return;
  }
  out.push_back(std::move(spec));
}

}  // namespace

std::shared_ptr<const std::vector<RemedySpec>> read_remedies(yaml::Reader& reader, const yaml::Node& node) {
  auto steps = std::make_shared<std::vector<RemedySpec>>();
  if (node.kind != Node::Kind::list) {
    reader.error(node.at, fmt::format("remedy: expected a list of steps, found {}", yaml::kind_name(node.kind)), std::string(kForm));
    return nullptr;
  }
  reader.list(node, "remedy", [&](const Node& item) { read_step(reader, item, *steps); });
  if (steps->size() > kMostRemedies) reader.error(node.at, fmt::format("remedy: {} steps, at most {} are legal", steps->size(), kMostRemedies));
  if (steps->empty()) return nullptr;
  return steps;
}

}  // namespace rdmend::rules
