// SPDX-License-Identifier: Apache-2.0
#include "remedies/run_hook.hpp"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "remedies/params.hpp"

namespace rdmend::remedies {
namespace {

constexpr milliseconds kDeadline = seconds{10};
constexpr std::size_t kMostArguments = 256;
constexpr std::size_t kMostOutput = 4096;

struct Settings {
  std::vector<std::string> command;
  milliseconds deadline = kDeadline;
};

nlohmann::json object_of(const Labels& labels) {
  auto object = nlohmann::json::object();
  for (const auto& [name, value] : labels) object[name] = value;
  return object;
}

// What the hook reads from its standard input: one object, one line.
std::string alert_json(const Alert& alert) {
  const nlohmann::json json{{"rule", alert.rule},
                            {"group", alert.group},
                            {"state", alert_state_name(alert.state)},
                            {"value", fmt::format("{}", alert.value)},
                            {"active_at", format_timestamp(alert.active_at)},
                            {"labels", object_of(alert.labels)},
                            {"annotations", object_of(alert.annotations)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string without_nul(std::string_view text) {
  std::string out(text);
  std::erase(out, '\0');
  return out;
}

// RDMEND_LABEL_DEVICE=rxe2 and the like. Nothing else of rdmend's environment is handed on but PATH.
std::vector<std::string> environment_of(const Alert& alert) {
  std::vector<std::string> environment{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                       "RDMEND_RULE=" + without_nul(alert.rule),
                                       "RDMEND_GROUP=" + without_nul(alert.group),
                                       fmt::format("RDMEND_VALUE={}", alert.value)};
  for (const auto& [name, value] : alert.labels) {
    std::string variable = "RDMEND_LABEL_";
    for (const char c : name)
      variable += std::isalnum(static_cast<unsigned char>(c))
                      ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                      : '_';
    environment.push_back(variable + "=" + without_nul(value));
  }
  return environment;
}

Report report_of(const Processes::Exit& exit, const std::string& target, milliseconds deadline) {
  Report report{Verdict::failed, target, {}, {{"exit_status", std::to_string(exit.status)}}};
  if (!exit.error.empty())
    report.reason = "could not be started: " + exit.error;
  else if (exit.timed_out)
    report.reason = fmt::format("did not end within {} and was killed", format_duration(deadline));
  else if (exit.status > 128)
    report.reason = fmt::format("was ended by signal {}", exit.status - 128);
  else
    report.reason = fmt::format("ended with exit status {}", exit.status);
  if (exit.status == 0 && exit.error.empty() && !exit.timed_out) report.verdict = Verdict::succeeded;
  if (!exit.output.empty()) report.figures["output"] = printable(exit.output, kMostOutput);
  return report;
}

class HookAction : public Action {
 public:
  HookAction(const Settings& settings, const Alert& alert, Environment& environment)
      : settings_(settings), alert_(alert), environment_(environment) {}

  void check(std::function<void(std::string)> done) override { done({}); }
  [[nodiscard]] std::vector<Target> targets() const override {
    const auto key = fmt::format("hook {} {}", settings_.command.front(), alert_.labels.text());
    return {{key, "", settings_.command.front(), fmt::format("run {}", fmt::join(settings_.command, " "))}};
  }
  void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) override {
    if (granted.empty()) return done({});
    environment_.processes.run(
        settings_.command, environment_of(alert_), alert_json(alert_), settings_.deadline,
        [alive = std::weak_ptr<bool>(alive_), this, done = std::move(done)](const Processes::Exit& exit) {
          if (!alive.expired()) done({report_of(exit, settings_.command.front(), settings_.deadline)});
        });
  }
  void verify(std::function<void(Report)> done) override {
    done({Verdict::succeeded, settings_.command.front(), "its exit status was its verdict", {}});
  }
  void undo(std::function<void(Report)> done) override {
    done({Verdict::undone, settings_.command.front(), "a hook is not undone", {}});
  }
  [[nodiscard]] bool verifiable() const override { return false; }

 private:
  Settings settings_;
  Alert alert_;
  Environment& environment_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RunHook : public Remedy {
 public:
  explicit RunHook(Settings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] std::string_view kind() const override { return "run_hook"; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("run_hook {}, deadline {}", fmt::join(settings_.command, " "),
                       format_duration(settings_.deadline));
  }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const override {
    return std::make_unique<HookAction>(settings_, alert, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string&, Environment&) const override {
    return nullptr;
  }

 private:
  Settings settings_;
};

void read_command(const RemedySpec& spec, Settings& settings, Diagnostics& diagnostics) {
  constexpr const char* kHint = "for instance command: [/usr/local/sbin/hook, argument]";
  const auto* param = find_param(spec, "command");
  if (param == nullptr)
    return diagnostics.error(spec.file, spec.at, "run_hook needs the parameter 'command'", kHint);
  if (!param->is_list || param->values.empty())
    return value_error(spec, *param,
                       "command is not a list: the program and each argument are an item of their own", kHint,
                       diagnostics);
  if (param->values.size() > kMostArguments)
    return value_error(spec, *param, fmt::format("command has {} items", param->values.size()),
                       fmt::format("at most {}", kMostArguments), diagnostics);
  if (param->values.front().empty() || param->values.front().front() != '/')
    value_error(spec, *param, fmt::format("'{}' is not an absolute path", printable(param->values.front())),
                kHint, diagnostics);
  for (const auto& value : param->values)
    if (value.find('\0') != std::string::npos)
      value_error(spec, *param, "command has an item with a NUL byte in it", {}, diagnostics);
  settings.command = param->values;
}

}  // namespace

std::unique_ptr<Remedy> compile_run_hook(const RemedySpec& spec, Diagnostics& diagnostics) {
  Settings settings;
  read_command(spec, settings, diagnostics);
  read_duration(spec, "deadline", {milliseconds{100}, std::chrono::minutes{10}}, settings.deadline, diagnostics);
  if (settings.command.empty()) return nullptr;
  return std::make_unique<RunHook>(std::move(settings));
}

}  // namespace rdmend::remedies
