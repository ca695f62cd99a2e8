// SPDX-License-Identifier: Apache-2.0
#include "remedies/undo_document.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace rdmend::remedies {
namespace {
constexpr int kVersion = 1;

nlohmann::json json_of(const RemedySpec& spec) {
  auto params = nlohmann::json::array();
  for (const auto& param : spec.params)
    params.push_back({{"name", param.name}, {"values", param.values}, {"list", param.is_list}});
  return {{"kind", spec.kind}, {"params", std::move(params)}};
}

RemedySpec spec_of(const nlohmann::json& json) {
  RemedySpec spec;
  spec.kind = json.at("kind").get<std::string>();
  for (const auto& item : json.at("params")) {
    RemedyParam param;
    param.name = item.at("name").get<std::string>();
    param.values = item.at("values").get<std::vector<std::string>>();
    param.is_list = item.at("list").get<bool>();
    spec.params.push_back(std::move(param));
  }
  return spec;
}

Timestamp time_of(const nlohmann::json& json) {
  return Timestamp{milliseconds{json.get<std::int64_t>()}};
}

DueUndo due_of(const nlohmann::json& json) {
  DueUndo due;
  due.action = json.at("action").get<std::uint64_t>();
  due.rule = json.at("rule").get<std::string>();
  due.group = json.at("group").get<std::string>();
  std::vector<Labels::Pair> labels;
  for (const auto& [name, value] : json.at("alert").items())
    labels.emplace_back(name, value.get<std::string>());
  due.alert = Labels(std::move(labels));
  due.value = json.at("value").is_number() ? json.at("value").get<double>() : 0;
  due.spec = spec_of(json.at("step"));
  due.target = json.at("target").get<std::string>();
  due.record = json.at("record").get<std::string>();
  due.verified = json.at("verified").get<bool>();
  due.began = time_of(json.at("began"));
  due.inactive_since = time_of(json.at("inactive_since"));
  due.hold = milliseconds{json.at("hold").get<std::int64_t>()};
  return due;
}

}  // namespace

std::string encode(const std::vector<DueUndo>& due) {
  auto actions = nlohmann::json::array();
  for (const auto& one : due) {
    auto labels = nlohmann::json::object();
    for (const auto& [name, value] : one.alert) labels[name] = value;
    actions.push_back({{"action", one.action},
                       {"rule", one.rule},
                       {"group", one.group},
                       {"alert", std::move(labels)},
                       {"value", one.value},
                       {"step", json_of(one.spec)},
                       {"target", one.target},
                       {"record", one.record},
                       {"verified", one.verified},
                       {"began", one.began.time_since_epoch().count()},
                       {"inactive_since", one.inactive_since.time_since_epoch().count()},
                       {"hold", one.hold.count()}});
  }
  return nlohmann::json{{"version", kVersion}, {"actions", std::move(actions)}}.dump(-1, ' ', false,
                                                                           nlohmann::json::error_handler_t::replace);
}

std::vector<DueUndo> decode_due_undos(const std::string& text, std::string& fault) {
  std::vector<DueUndo> due;
  if (text.empty()) return due;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("version", nlohmann::json()) != nlohmann::json(kVersion) || !json.contains("actions") ||
      !json["actions"].is_array()) {
    fault = "the list of due undos is not one that this rdmend knows";
    return due;
  }
  for (const auto& item : json["actions"]) try {
      due.push_back(due_of(item));
    } catch (const nlohmann::json::exception& error) {
      fault = fmt::format("one due undo cannot be read: {}", error.what());
    }
  return due;
}

}  // namespace rdmend::remedies
