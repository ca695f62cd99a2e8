// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "command.hpp"
#include "config/config.hpp"

namespace rdmend::ctl {
namespace {

int check_config(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    fmt::print(stderr, "{}\n", text.error().message);
    return wrong;
  }
  Diagnostics diagnostics;
  config::parse(file, *text, "", diagnostics);
  fmt::print(stderr, "{}", diagnostics.text());
  if (diagnostics.failed()) return wrong;
  fmt::print("{}: good\n", file);
  return fine;
}

}  // namespace

void add_check_config(CLI::App& parent, const Globals&, int& exit) {
  auto* command = parent.add_subcommand("config", "Check a configuration file: every fault, with its place");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "the configuration, rdmend.yaml")->required();
  command->callback([file, &exit] { exit = check_config(*file); });
}

}  // namespace rdmend::ctl
