// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "base/text.hpp"
#include "client.hpp"
#include "model/labels.hpp"

namespace rdmend::ctl {
namespace {

std::string series(const json& metric) {
  Labels labels;
  for (const auto& [name, value] : metric.items()) labels.set(name, value.get<std::string>());
  return printable(labels.text(), 2000);
}

std::string point(const json& pair) {
  return fmt::format("{} @[{}]", pair.at(1).get<std::string>(), pair.at(0).dump());
}

void show_query(const json& data) {
  const auto& result = data["result"];
  const auto type = data["resultType"].get<std::string>();
  if (type == "scalar" || type == "string") {
    fmt::print("{}: {}\n", type, printable(point(result), 2000));
    return;
  }
  for (const auto& element : result) {
    if (type == "vector") {
      fmt::print("{} => {}\n", series(element["metric"]), point(element["value"]));
      continue;
    }
    fmt::print("{} =>\n", series(element["metric"]));
    for (const auto& value : element["values"]) fmt::print("{}\n", point(value));
  }
}

}  // namespace

void add_query(CLI::App& parent, const Globals& globals, int& exit) {
  struct Options {
    std::string expression, time;
  };
  auto options = std::make_shared<Options>();
  const auto call = [options] {
    Call out{"/api/v1/query", {{"query", options->expression}}, true};
    if (!options->time.empty()) out.parameters.emplace_back("time", options->time);
    return out;
  };
  auto& command =
      add_question(parent, globals, exit,
                   {"query", "The value of a PromQL expression, from the last minutes that rdmend holds",
                    call, show_query});
  command.add_option("EXPR", options->expression, "the expression, in quotes")->type_name("")->required();
  command
      .add_option("--time", options->time, "at this time: RFC 3339 or seconds since the epoch (default: now)")
      ->type_name("TIME");
}

}  // namespace rdmend::ctl
