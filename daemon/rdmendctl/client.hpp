// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
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

// Asks, and hands the answer's `data` to `show`, or prints it as it is with `as_json`. Prints what went wrong; the exit code.
int online(const Globals& globals, const Call& call, bool as_json, const std::function<int(const json& data)>& show);

}  // namespace rdmend::ctl
