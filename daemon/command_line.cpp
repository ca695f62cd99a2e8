// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <string_view>

#include "base/text.hpp"

namespace rdmend::command_line {
namespace {

constexpr int kUsage = 2;
constexpr std::size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMostWord = 64;  // bytes of a wrong word that are shown

const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* child : app.get_subcommands({})) names.push_back(child->get_name());
  return names;
}

// The options that may stand after `app`'s name: its own, and those of the commands before it.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const auto* option : at->get_options())
      for (const auto& name : option->get_lnames())
        if (at == &app || name != "help") names.push_back("--" + name);
  return names;
}

std::string hint(std::string_view word, const std::vector<std::string>& legal) {
  return did_you_mean(word, std::vector<std::string_view>(legal.begin(), legal.end()));
}

// A word that nothing takes, told with what may have been meant: CLI11 only calls it unexpected, or misses a
// command.
std::string left_over(const CLI::App& app) {
  const auto words = app.remaining(true);
  if (words.empty()) return {};
  const auto& at = innermost(app);
  const auto shown = printable(words.front(), kMostWord);
  if (words.front().starts_with('-'))
    return fmt::format("unknown option '{}'; {}", shown, hint(words.front(), options_of(at)));
  if (const auto commands = commands_of(at); !commands.empty())
    return fmt::format("unknown command '{}'; {}", shown, hint(words.front(), commands));
  return fmt::format("'{}' is one word too many; a value with blanks needs quotes", shown);
}

std::string missing(const CLI::App& at) {
  if (const auto commands = commands_of(at); !commands.empty() && at.get_subcommands().empty())
    return fmt::format("a command is missing; legal are: {}", fmt::join(commands, ", "));
  for (const auto* option : at.get_options())
    if (option->get_required() && option->count() == 0)
      return fmt::format("{} is missing: {}", option->get_name(), option->get_description());
  return {};
}

std::string sentence(const CLI::App& app, const CLI::ParseError& fault) {
  const std::string what = fault.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&fault) != nullptr) {
    const bool none = what.ends_with(" missing");
    return what.substr(0, what.find(':')) + (none ? " needs a value" : " may be given once only");
  }
  auto ours = left_over(app);
  if (ours.empty() && dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr)
    ours = missing(innermost(app));
  return ours.empty() ? what : ours;
}

}  // namespace

std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() == 0) return app.exit(fault);
    const auto name = full_name(innermost(app));
    fmt::print(stderr, "{}: {}\nsee '{} --help'\n", name, sentence(app, fault), name);
    return kUsage;
  }
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most)
      return {};
    const auto range =
        most == UINT64_MAX ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most);
    return fmt::format("'{}' is not a whole number, {}", printable(text, kMostWord), range);
  };
  return {check, ""};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](std::string& text) -> std::string {
    for (const auto& word : words)
      if (text == word) return {};
    return fmt::format("'{}' is not known; {}", printable(text, kMostWord), hint(text, words));
  };
  return {check, ""};
}

CLI::Validator duration() {
  const auto check = [](std::string& text) -> std::string {
    const auto length = parse_duration(text);
    if (length && length->count() > 0) return {};
    return fmt::format("'{}' is not a duration like 30m or 1h", printable(text, kMostWord));
  };
  return {check, ""};
}

CLI::Validator socket_path() {
  const auto check = [](std::string& text) -> std::string {
    if (text.empty()) return "the path is empty";
    if (text.size() <= kMostPath) return {};
    return fmt::format("the path has {} bytes, that of a socket may have {}", text.size(), kMostPath);
  };
  return {check, ""};
}

}  // namespace rdmend::command_line
