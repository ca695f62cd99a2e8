// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <fstream>
#include <memory>
#include <vector>

#include "command.hpp"
#include "rules/rule_file.hpp"

namespace rdmend::ctl {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

int export_one(const std::string& file, const std::string& directory) {
  const auto text = read_file(file);
  if (!text) {
    fmt::print(stderr, "{}\n", text.error().message);
    return wrong;
  }
  const auto written = rules::export_rule_file(file, *text);
  if (!written) {
    fmt::print(stderr, "{}{}", written.error().message, written.error().message.ends_with('\n') ? "" : "\n");
    return wrong;
  }
  if (directory.empty()) {
    fmt::print("{}", *written);
    return fine;
  }
  const std::string target = directory + "/" + base_name(file);
  std::ofstream out(target, std::ios::trunc);
  out << *written;
  out.close();
  if (out) return fine;
  fmt::print(stderr, "{}\n", errno_error(target, errno).message);
  return wrong;
}

}  // namespace

void add_export_rules(CLI::App& parent, const Globals&, int& exit) {
  auto* command =
      parent.add_subcommand("rules", "Write rule files without rdmend's own keys, as Prometheus loads them");
  struct Arguments {
    std::vector<std::string> files;
    std::string directory;
  };
  auto arguments = std::make_shared<Arguments>();
  command->add_option("FILE", arguments->files, "rule files")->required();
  command->add_option("-o,--output", arguments->directory,
                      "directory to write files of the same names to; standard output takes one file");
  command->callback([arguments, &exit] {
    if (arguments->directory.empty() && arguments->files.size() > 1) {
      fmt::print(stderr,
                 "rdmendctl export rules: several files would be one on standard output; give a directory "
                 "with -o\n");
      exit = usage;
      return;
    }
    for (const auto& file : arguments->files)
      if (const int code = export_one(file, arguments->directory); code != fine) exit = code;
  });
}

}  // namespace rdmend::ctl
