// SPDX-License-Identifier: Apache-2.0
// The operator's brake: mode, undo, breaker, and reload.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

int show_mode(const json& data) {
  fmt::print("mode is {}\n", cell(data, "mode_text"));
  if (data["mode"] == "act" && cell(data, "hand") != "-") fmt::print(stderr, "remedies that need the hand are refused: {}\n", cell(data, "hand"));
  return fine;
}

int show_text(const json& data) {
  fmt::print("{}\n", cell(data, "text"));
  return fine;
}

int show_breaker(const json& data) {
  fmt::print("{}\n", cell(data["breaker"], "text"));
  return data["breaker"]["open"].get<bool>() ? wrong : fine;
}

int reload(const Globals& globals) {
  const auto reply = ask(globals, {"/-/reload", {}, true});
  if (!reply) {
    fmt::print(stderr, "rdmendctl: {}\n", reply.error().message);
    return unreachable;
  }
  const auto refused = json::parse(reply->body, nullptr, false);
  const bool good = reply->status == 200;
  fmt::print(good ? stdout : stderr, "{}", refused.is_object() && refused.contains("error") ? "rdmendctl: " + cell(refused, "error") + "\n" : reply->body);
  return good ? fine : wrong;
}

}  // namespace

void add_mode(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("mode", "observe: decide and write down only; act: carry remedies out");
  struct Options {
    std::string mode, length;
  };
  auto options = std::make_shared<Options>();
  command->add_option("MODE", options->mode, "observe or act")->required()->check(CLI::IsMember({"observe", "act"}));
  command->add_option("--for", options->length, "so long, then as configured again: 30m, 1h");
  command->callback([&globals, &exit, options] {
    Call call{"/api/v1/mode", {{"mode", options->mode}}, true};
    if (!options->length.empty()) call.parameters.emplace_back("for", options->length);
    exit = online(globals, call, false, show_mode);
  });
}

void add_undo(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("undo", "Give back what an action changed; 'rdmendctl remedies' lists them");
  auto id = std::make_shared<std::uint64_t>(0);
  command->add_option("ID", *id, "the action")->required();
  command->callback([&globals, &exit, id] { exit = online(globals, {"/api/v1/undo", {{"id", std::to_string(*id)}}, true}, false, show_text); });
}

void add_breaker(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("breaker", "Tell whether the breaker is open (exit code 1), or close it");
  auto what = std::make_shared<std::string>();
  command->add_option("reset", *what, "close it")->check(CLI::IsMember({"reset"}));
  command->callback([&globals, &exit, what] {
    exit = what->empty() ? online(globals, {"/api/v1/status", {}}, false, show_breaker)
                         : online(globals, {"/api/v1/breaker", {}, true}, false, show_text);
  });
}

void add_reload(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("reload", "Read configuration and rules again; with a fault in them all goes on as it was");
  command->callback([&globals, &exit] { exit = reload(globals); });
}

}  // namespace rdmend::ctl
