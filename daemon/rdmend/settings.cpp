// SPDX-License-Identifier: Apache-2.0
#include "rdmend/settings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "metrics/unknown_series.hpp"
#include "remedies/remedy.hpp"

namespace rdmend::daemon {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20U;  // of one file
constexpr std::size_t kMostRuleFiles = 1000;

Result<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return errno_error("cannot be read", errno);
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && !S_ISREG(info.st_mode)) return Error{"is not a file", EINVAL};
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return errno_error("cannot be read", errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes)
      return Error{fmt::format("is longer than {} MiB", kMostBytes >> 20U), EFBIG};
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A pattern of a directory that is still empty is no fault, a file named outright that is not there is one.
void expand(const std::string& config_file, const std::string& pattern, std::vector<std::string>& out,
            Diagnostics& diagnostics) {
  glob_t found{};
  const int code = glob(pattern.c_str(), 0, nullptr, &found);
  for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (code == 0) return;
  if (pattern.find_first_of("*?[") == std::string::npos)
    out.push_back(pattern);  // reading it says what is wrong with it
  else
    diagnostics.warning(config_file, {}, fmt::format("rule_files: no file matches '{}'", pattern));
}

void check_remedies(const std::vector<rules::Group>& groups, Diagnostics& diagnostics) {
  for (const auto& group : groups)
    for (const auto& rule : group.rules)
      if (rule.remedy)
        for (const auto& step : *rule.remedy) remedies::compile(step, diagnostics);
}

void load_rule_file(const std::string& path, Settings& settings, Diagnostics& diagnostics) {
  const auto text = read_file(path);
  if (!text) {
    diagnostics.error(path, {}, text.error().message);
    return;
  }
  auto groups = rules::parse_rule_file(path, *text, diagnostics);
  check_remedies(groups, diagnostics);
  std::move(groups.begin(), groups.end(), std::back_inserter(settings.groups));
}

}  // namespace

Settings load_settings(const std::string& file, Diagnostics& diagnostics) {
  Settings out;
  out.file = file;
  const auto text = read_file(file);
  if (!text) {
    diagnostics.error(file, {}, text.error().message, "another file is given with --config");
    return out;
  }
  out.config = config::parse(file, *text, host_name(), diagnostics);
  for (const auto& pattern : out.config.rule_files) expand(file, pattern, out.rule_files, diagnostics);
  std::sort(out.rule_files.begin(), out.rule_files.end());
  out.rule_files.erase(std::unique(out.rule_files.begin(), out.rule_files.end()), out.rule_files.end());
  if (out.rule_files.size() > kMostRuleFiles) {
    diagnostics.error(
        file, {}, fmt::format("rule_files: {} files match, {} may", out.rule_files.size(), kMostRuleFiles));
    return out;
  }
  for (const auto& path : out.rule_files) load_rule_file(path, out, diagnostics);
  if (!diagnostics.failed()) {  // else a rule may have no expression
    metrics::SeriesNames names;
    names.add_records(out.groups);
    names.warn_of_unknown(out.groups, diagnostics);
  }
  return out;
}

}  // namespace rdmend::daemon
