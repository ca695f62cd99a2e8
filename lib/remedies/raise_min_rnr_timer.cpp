// SPDX-License-Identifier: Apache-2.0
#include "remedies/raise_min_rnr_timer.hpp"

#include <fmt/format.h>

#include <charconv>

#include "advice/timers.hpp"
#include "base/text.hpp"
#include "remedies/params.hpp"
#include "remedies/raise_action.hpp"

namespace rdmend::remedies {
namespace {

constexpr milliseconds kForeseenApart = seconds{3};

class RaiseMinRnrTimer : public Remedy {
 public:
  explicit RaiseMinRnrTimer(TimerSettings settings) : settings_(settings) {}
  [[nodiscard]] std::string_view kind() const override { return "raise_min_rnr_timer"; }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("raise_min_rnr_timer factor {:g}, ceiling {}", settings_.factor,
                       advice::short_time(settings_.ceiling));
  }
  // The dump that the packets accepted before a change are counted from. An alert that comes and goes must
  // not make one each time: a dump may cost the device a command a QP.
  void foresee(const Alert& alert, Environment& environment) const override {
    const std::string device(alert.labels.get("device"));
    const auto age = environment.reactor.now().wall - environment.qps.latest(device).at;
    if (!device.empty() && age >= kForeseenApart) environment.qps.refresh(device, kDumpDeadline, [](bool) {});
  }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const override {
    return std::make_unique<RaiseAction>(settings_, alert, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string& undo_record,
                                               Environment& environment) const override {
    auto record = decode_raise_record(undo_record);
    if (!record) return nullptr;
    return std::make_unique<RaiseAction>(settings_, std::move(*record), environment);
  }

 private:
  TimerSettings settings_;
};

void read_factor(const RemedySpec& spec, TimerSettings& settings, Diagnostics& diagnostics) {
  constexpr double kMostFactor = 65'536;  // from the shortest timer to the longest
  const auto* param = find_param(spec, "factor");
  const auto* text = scalar(spec, param, diagnostics);
  if (text == nullptr) return;
  double value = 0;
  const auto [rest, error] =
      std::from_chars(text->data(), text->data() + text->size(), value, std::chars_format::fixed);
  if (error != std::errc{} || rest != text->data() + text->size() || !(value > 1) || value > kMostFactor)
    return value_error(spec, *param,
                       fmt::format("factor is '{}': not a number above 1, at most 65536", printable(*text)),
                       "for instance 4", diagnostics);
  settings.factor = value;
}

void read_ceiling(const RemedySpec& spec, TimerSettings& settings, Diagnostics& diagnostics) {
  const auto* param = find_param(spec, "ceiling");
  const auto* text = scalar(spec, param, diagnostics);
  if (text == nullptr) return;
  const auto length = advice::parse_fine_duration(*text);
  if (!length || !advice::rnr_code_at_most(*length) || *length > advice::rnr_timer(0))
    return value_error(spec, *param,
                       fmt::format("ceiling is '{}': not a duration from 10us to 655.36ms", printable(*text)),
                       "for instance 640us or 10ms", diagnostics);
  settings.ceiling = *length;
}

}  // namespace

std::unique_ptr<Remedy> compile_raise_min_rnr_timer(const RemedySpec& spec, Diagnostics& diagnostics) {
  TimerSettings settings;
  read_factor(spec, settings, diagnostics);
  read_ceiling(spec, settings, diagnostics);
  return std::make_unique<RaiseMinRnrTimer>(settings);
}

}  // namespace rdmend::remedies
