// SPDX-License-Identifier: Apache-2.0
#include "remedies/restart_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "remedies/params.hpp"

namespace rdmend::remedies {
namespace {

constexpr milliseconds kRestartDeadline = seconds{30};
constexpr milliseconds kLookDeadline = seconds{5};
constexpr std::array<std::string_view, 6> kUnitTypes{"service", "socket", "target", "mount", "timer", "path"};
constexpr const char* kUnitHint = "for instance opensm.service";

struct RestartSettings {
  std::string unit;
  milliseconds deadline = kRestartDeadline;
};

std::string unit_text(const UnitState& unit) {
  return fmt::format("{} ({})", unit.active_state, unit.sub_state);
}

// Why a unit in this state is not restarted, "" when it may be.
std::string unit_objects(const UnitState& unit) {
  if (unit.load_state == "not-found") return fmt::format("there is no unit {}", unit.id);
  if (unit.load_state == "masked") return fmt::format("{} is masked", unit.id);
  if (unit.load_state != "loaded")
    return fmt::format("{} could not be loaded by systemd: {}", unit.id, unit.load_state);
  if (unit.takes_rdmend_along)
    return fmt::format("restarting {} would stop rdmend's own unit with it", unit.id);
  if (!unit.by_hand)
    return fmt::format("{} may not be stopped or started by hand (RefuseManualStop, RefuseManualStart)",
                       unit.id);
  if (unit.active_state == "inactive" || unit.active_state == "deactivating")
    return fmt::format("{} is {}: a unit that was stopped is not started", unit.id, unit.active_state);
  return {};
}

class RestartAction : public Action {
 public:
  RestartAction(const RestartSettings& settings, Environment& environment)
      : settings_(settings), environment_(environment), observing_(environment.observing) {
    unit_.id = settings.unit;
  }

  void check(std::function<void(std::string)> done) override {
    environment_.units.look(settings_.unit, kLookDeadline,
                            [alive = std::weak_ptr<bool>(alive_), this,
                             done = std::move(done)](const Result<UnitState>& unit) {
                              if (alive.expired()) return;
                              if (!unit) return done(unit.error().message);
                              unit_ = *unit;
                              auto objection = unit_objects(unit_);
                              if (objection.empty()) objection = not_listed();
                              // To observe asks for no right, so a right that is missing refuses nothing.
                              if (!objection.empty() || observing_) return done(std::move(objection));
                              ask_permission(done);
                            });
  }
  [[nodiscard]] std::vector<Target> targets() const override {
    return {{"unit " + unit_.id, "", unit_.id, fmt::format("restart it, which is {} now", unit_text(unit_))}};
  }
  void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) override {
    if (granted.empty()) return done({});
    environment_.units.restart(
        unit_.id, settings_.deadline,
        [alive = std::weak_ptr<bool>(alive_), this, done = std::move(done)](const Result<UnitState>& unit) {
          if (!alive.expired()) done({restarted(unit)});
        });
  }
  void verify(std::function<void(Report)> done) override {
    environment_.units.look(
        unit_.id, kLookDeadline,
        [alive = std::weak_ptr<bool>(alive_), this, done = std::move(done)](const Result<UnitState>& unit) {
          if (!alive.expired()) done(verified(unit));
        });
  }
  void undo(std::function<void(Report)> done) override {
    done({Verdict::undone, unit_.id, "a restart is not undone", {}});
  }

 private:
  // By its own name: an alias may come to mean another unit.
  [[nodiscard]] std::string not_listed() const {
    const auto& allowed = environment_.units_allowed;
    if (std::find(allowed.begin(), allowed.end(), unit_.id) != allowed.end()) return {};
    return fmt::format("remedies.units does not list {}", unit_.id);
  }
  void ask_permission(const std::function<void(std::string)>& done) {
    environment_.units.may_restart(
        unit_.id, kLookDeadline,
        [alive = std::weak_ptr<bool>(alive_), done](const Result<void>& permission) {
          if (!alive.expired()) done(permission ? std::string() : permission.error().message);
        });
  }
  Report restarted(const Result<UnitState>& unit) {
    if (!unit) return {Verdict::failed, unit_.id, unit.error().message, {{"was", unit_text(unit_)}}};
    Report report{Verdict::started,
                  unit_.id,
                  fmt::format("restarted: was {}, is {}", unit_text(unit_), unit_text(*unit)),
                  {{"was", unit_text(unit_)}, {"is", unit_text(*unit)}}};
    unit_ = *unit;
    return report;
  }
  // Active is not enough: a unit that ends and is started again over and over is active now and then.
  [[nodiscard]] Report verified(const Result<UnitState>& unit) const {
    if (!unit) return {Verdict::failed, unit_.id, unit.error().message, {}};
    Report report{Verdict::ineffective, unit_.id, {}, {{"is", unit_text(*unit)}}};
    if (unit->active_state != "active") {
      report.reason = fmt::format("{} is {} after its restart", unit_.id, unit_text(*unit));
    } else if (unit->invocation != unit_.invocation) {
      report.reason = fmt::format("{} is {}, but was started once more since its restart", unit_.id,
                                  unit_text(*unit));
    } else {
      report.verdict = Verdict::succeeded;
      report.reason = fmt::format("{} is {} since its restart", unit_.id, unit_text(*unit));
    }
    return report;
  }

  RestartSettings settings_;
  Environment& environment_;
  bool observing_;
  UnitState unit_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RestartUnit : public Remedy {
 public:
  explicit RestartUnit(RestartSettings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] std::string_view kind() const override { return "restart_unit"; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("restart_unit {}, deadline {}", settings_.unit, format_duration(settings_.deadline));
  }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert&, Environment& environment) const override {
    return std::make_unique<RestartAction>(settings_, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string&, Environment&) const override {
    return nullptr;
  }

 private:
  RestartSettings settings_;
};

// What is wrong with the name, "" when nothing is.
std::string name_fault(const std::string& name) {
  const auto suffix = unit_suffix(name);
  if (!suffix || name.front() == '@') return "not the name of a unit with its suffix";
  if (std::find(kUnitTypes.begin(), kUnitTypes.end(), *suffix) == kUnitTypes.end())
    return fmt::format("not a unit that can be restarted: those end in .{}", fmt::join(kUnitTypes, ", ."));
  if (name[name.size() - suffix->size() - 2] == '@') return "a template: the instance is missing between '@' and the suffix";
  if (name == "rdmend.service") return "rdmend's own unit, which it does not restart";
  return {};
}

}  // namespace

std::unique_ptr<Remedy> compile_restart_unit(const RemedySpec& spec, Diagnostics& diagnostics) {
  RestartSettings settings;
  const auto* param = find_param(spec, "unit");
  if (param == nullptr)
    diagnostics.error(spec.file, spec.at, "restart_unit needs the parameter 'unit'", kUnitHint);
  if (const auto* name = scalar(spec, param, diagnostics)) {
    settings.unit = *name;
    if (const auto fault = name_fault(*name); !fault.empty())
      value_error(spec, *param, fmt::format("unit is '{}': {}", printable(*name), fault), kUnitHint, diagnostics);
  }
  read_duration(spec, "deadline", {seconds{1}, std::chrono::minutes{10}}, settings.deadline, diagnostics);
  if (settings.unit.empty()) return nullptr;
  return std::make_unique<RestartUnit>(std::move(settings));
}

}  // namespace rdmend::remedies
