// SPDX-License-Identifier: Apache-2.0
// The operator's brake: mode, undo, breaker, and reload.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "base/text.hpp"
#include "client.hpp"
#include "command_line.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

void show_mode(const json& data) {
  fmt::print("mode is {}\n", cell(data, "mode_text"));
  if (data["mode"] == "act" && cell(data, "hand") != "-")
    fmt::print(stderr, "remedies that need the hand are refused: {}\n", cell(data, "hand"));
}

void show_text(const json& data) {
  fmt::print("{}\n", cell(data, "text"));
}

// Asked about, it stands in the daemon's status; closed, it is the whole answer.
int judge_breaker(json& data) {
  if (data.contains("breaker")) data = json(data["breaker"]);
  return data["open"].get<bool>() ? wrong : fine;
}

// The daemon answers as Prometheus does here: lines of text, and a status.
int reload(const Globals& globals, bool as_json) {
  const auto reply = ask(globals, {"/-/reload", {}, true});
  if (!reply) {
    fmt::print(stderr, "rdmendctl: {}\n", reply.error().message);
    return unreachable;
  }
  const bool good = reply->status == 200;
  const auto refused = json::parse(reply->body, nullptr, false);
  if (refused.is_object() && refused.contains("error")) {
    fmt::print(stderr, "rdmendctl: {}\n", cell(refused, "error"));
  } else if (as_json) {
    auto messages = json::array();
    for (const auto line : split(reply->body, '\n'))
      if (!line.empty()) messages.push_back(line);
    fmt::print("{}\n", json{{"good", good}, {"messages", messages}}.dump(2));
  } else {
    fmt::print(good ? stdout : stderr, "{}", reply->body);
  }
  return good ? fine : wrong;
}

}  // namespace

void add_mode(CLI::App& parent, const Globals& globals, int& exit) {
  struct Options {
    std::string mode, length;
  };
  auto options = std::make_shared<Options>();
  const auto call = [options] {
    Call out{"/api/v1/mode", {{"mode", options->mode}}, true};
    if (!options->length.empty()) out.parameters.emplace_back("for", options->length);
    return out;
  };
  auto& command =
      add_question(parent, globals, exit,
                   {"mode", "observe: decide and write down only; act: carry remedies out", call, show_mode});
  command.add_option("MODE", options->mode, "observe or act")
      ->type_name("")
      ->required()
      ->check(command_line::one_of({"observe", "act"}));
  command.add_option("--for", options->length, "so long, then as configured again: 30m, 1h")
      ->type_name("DURATION")
      ->check(command_line::duration());
}

void add_undo(CLI::App& parent, const Globals& globals, int& exit) {
  auto id = std::make_shared<std::string>();
  const auto call = [id] { return Call{"/api/v1/undo", {{"id", *id}}, true}; };
  add_question(parent, globals, exit, {"undo", "Give back what an action changed", call, show_text})
      .add_option("ID", *id, "the action's number; 'rdmendctl remedies' lists them")
      ->type_name("")
      ->required()
      ->check(command_line::whole_number(1, UINT64_MAX));
}

void add_breaker(CLI::App& parent, const Globals& globals, int& exit) {
  auto what = std::make_shared<std::string>();
  const auto call = [what] {
    return what->empty() ? Call{"/api/v1/status", {}} : Call{"/api/v1/breaker", {}, true};
  };
  add_question(parent, globals, exit,
               {"breaker", "Tell whether the breaker is open (exit code 1), or close it", call, show_text,
                judge_breaker})
      .add_option("reset", *what, "close it")
      ->type_name("")
      ->check(command_line::one_of({"reset"}));
}

void add_reload(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand(
      "reload", "Read configuration and rules again; with a fault in them all goes on as it was");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "for programs");
  command->callback([&globals, &exit, as_json] { exit = reload(globals, *as_json); });
}

}  // namespace rdmend::ctl
