// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace rdmend::ctl {

// Exit codes of every sub-command.
enum Exit : int { fine = 0, wrong = 1, usage = 2, unreachable = 3 };

// What stands before the sub-command and holds for all.
struct Globals {
  std::string control_socket = "/run/rdmend/control.sock";
};

// Adds one sub-command to `parent` and sets its callback, which leaves the exit code in `exit`. One row of
// the table in main.cpp and one file each.
using Register = void (*)(CLI::App& parent, const Globals& globals, int& exit);

void add_check_config(CLI::App& parent, const Globals& globals, int& exit);
void add_check_rules(CLI::App& parent, const Globals& globals, int& exit);
void add_test_rules(CLI::App& parent, const Globals& globals, int& exit);
void add_export_rules(CLI::App& parent, const Globals& globals, int& exit);
void add_status(CLI::App& parent, const Globals& globals, int& exit);
void add_qps(CLI::App& parent, const Globals& globals, int& exit);
void add_alerts(CLI::App& parent, const Globals& globals, int& exit);
void add_remedies(CLI::App& parent, const Globals& globals, int& exit);
void add_history(CLI::App& parent, const Globals& globals, int& exit);
void add_events(CLI::App& parent, const Globals& globals, int& exit);
void add_query(CLI::App& parent, const Globals& globals, int& exit);
void add_explain(CLI::App& parent, const Globals& globals, int& exit);
void add_mode(CLI::App& parent, const Globals& globals, int& exit);
void add_undo(CLI::App& parent, const Globals& globals, int& exit);
void add_breaker(CLI::App& parent, const Globals& globals, int& exit);
void add_reload(CLI::App& parent, const Globals& globals, int& exit);

// The file's bytes, "-" being standard input; an error says "FILE: why". At most `most` bytes.
Result<std::string> read_file(const std::string& path, std::size_t most = std::size_t{2} << 20U);

}  // namespace rdmend::ctl
