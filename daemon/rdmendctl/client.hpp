// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"

namespace rdmend::ctl {

using nlohmann::json;

// One request to the daemon, over its control socket.
struct Call {
  std::string path;  // "/api/v1/status"
  std::vector<std::pair<std::string, std::string>> parameters;
  bool post = false;
};
struct Reply {
  long status = 0;
  std::string body;
};

// The error is a sentence that names the socket and what to do.
Result<Reply> ask(const Globals& globals, const Call& call);

// A sub-command that asks the daemon one thing.
struct Question {
  const char* name;
  const char* help;
  std::function<Call()> call;                  // the request that its options make
  std::function<void(const json& data)> show;  // prints the answer for people
  // Cuts the answer to what was asked about, where that is needed; the exit code.
  std::function<int(json& data)> judge = [](json&) { return int{fine}; };
};
// With --json, which prints what `judge` left as it is.
CLI::App& add_question(CLI::App& parent, const Globals& globals, int& exit, Question question);

// --limit of the questions that answer a list, into `limit`.
void add_limit(CLI::App& command, const std::shared_ptr<std::string>& limit, std::uint64_t most = 1000);

}  // namespace rdmend::ctl
