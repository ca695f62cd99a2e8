// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "config/config.hpp"
#include "rules/rule_file.hpp"

namespace rdmend::daemon {

// All that files say: the configuration and the rules it names, read, checked and compiled.
struct Settings {
  std::string file;
  config::Config config;
  std::vector<rules::Group> groups;
  std::vector<std::string> rule_files;  // as found, sorted
};

// Reads it all, remedies of the rules included; every fault of every file goes to `diagnostics`. Usable only if that did
// not fail. The one path of --check-config, of the start and of a reload.
Settings load_settings(const std::string& file, Diagnostics& diagnostics);

}  // namespace rdmend::daemon
