// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

// What the programs say about a command line: CLI11 parses it, the sentences are ours.
namespace rdmend::command_line {

// nullopt when all is well; else the program's exit code: 0 after --help or --version, 2 after saying what is
// wrong.
std::optional<int> parse(CLI::App& app, int argc, char** argv);

// Checks for an option's value; the sentence says what would be right.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator one_of(std::vector<std::string> words);
CLI::Validator duration();
CLI::Validator socket_path();

}  // namespace rdmend::command_line
