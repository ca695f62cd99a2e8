// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "remedies/advise.hpp"
#include "remedies/params.hpp"
#include "remedies/raise_min_rnr_timer.hpp"
#include "remedies/refresh_neighbour.hpp"
#include "remedies/remedy.hpp"
#include "remedies/restart_unit.hpp"
#include "remedies/run_hook.hpp"

namespace rdmend::remedies {
namespace {

// Faults that every kind has in common: names that are not its own, or given twice.
void check_names(const RemedySpec& spec, const KindRow& row, Diagnostics& diagnostics) {
  std::vector<std::string_view> legal;
  for (const auto& param : row.params) legal.push_back(param.name);
  for (auto param = spec.params.begin(); param != spec.params.end(); ++param) {
    if (std::find(legal.begin(), legal.end(), param->name) == legal.end())
      diagnostics.error(spec.file, param->at,
                        fmt::format("unknown parameter '{}' of {}", printable(param->name), row.kind),
                        did_you_mean(param->name, legal));
    else if (std::any_of(spec.params.begin(), param,
                         [&](const RemedyParam& p) { return p.name == param->name; }))
      diagnostics.error(spec.file, param->at,
                        fmt::format("parameter '{}' of {} is given twice", param->name, row.kind));
  }
}

}  // namespace

const std::vector<KindRow>& kinds() {
  static const std::vector<KindRow> rows{
      {"raise_min_rnr_timer",
       "raises the RNR timer of the port's responder QPs, live, so that their peers wait longer before they "
       "send again",
       {{"factor", "number above 1", "4",
         "by how much a QP's timer becomes longer, rounded up to a timer code"},
        {"ceiling", "duration, 10us to 655.36ms", "10ms",
         "the longest timer that is set; QPs that have it already are left alone"}},
       compile_raise_min_rnr_timer},
      {"refresh_neighbour",
       "has the kernel resolve a peer's ARP or ND entry again",
       {},
       compile_refresh_neighbour},
      {"run_hook",
       "runs a command of the operator's, with the alert as JSON on its standard input",
       {{"command", "list of strings", "",
         "the program's absolute path and its arguments; no shell is involved (required)"},
        {"deadline", "duration, 100ms to 10m", "10s",
         "how long it may run; then its process group is killed"}},
       compile_run_hook},
      {"restart_unit",
       "restarts a systemd unit, such as the subnet manager or a service whose connections are broken",
       {{"unit", "unit name", "",
         "the unit, with its suffix: .service, .socket, .target, .mount, .timer or .path (required)"},
        {"deadline", "duration, 1s to 10m", "30s",
         "how long its restart may take; then it has failed, though systemd goes on with it"}},
       compile_restart_unit},
      {"advise",
       "changes nothing: says which value is right, and why",
       {{"about", "topic", "", "what to advise on (required)"}},
       compile_advise},
  };
  return rows;
}

std::unique_ptr<Remedy> compile(const RemedySpec& spec, Diagnostics& diagnostics) {
  const auto row =
      std::find_if(kinds().begin(), kinds().end(), [&](const KindRow& r) { return r.kind == spec.kind; });
  if (row == kinds().end()) {
    std::vector<std::string_view> legal;
    for (const auto& known : kinds()) legal.push_back(known.kind);
    diagnostics.error(spec.file, spec.at, fmt::format("unknown remedy '{}'", printable(spec.kind)),
                      did_you_mean(spec.kind, legal));
    return nullptr;
  }
  const auto before = diagnostics.all().size();
  check_names(spec, *row, diagnostics);
  auto remedy = row->compile(spec, diagnostics);
  const auto is_error = [](const Diagnostic& d) { return d.severity == Diagnostic::Severity::error; };
  const auto& all = diagnostics.all();
  if (std::any_of(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), is_error)) return nullptr;
  return remedy;
}

const RemedyParam* find_param(const RemedySpec& spec, std::string_view name) {
  const auto at = std::find_if(spec.params.begin(), spec.params.end(),
                               [&](const RemedyParam& p) { return p.name == name; });
  return at == spec.params.end() ? nullptr : &*at;
}

const std::string* scalar(const RemedySpec& spec, const RemedyParam* param, Diagnostics& diagnostics) {
  if (param == nullptr) return nullptr;
  if (!param->is_list && param->values.size() == 1) return param->values.data();
  value_error(spec, *param, fmt::format("'{}' takes one value, not a list", param->name), {}, diagnostics);
  return nullptr;
}

void value_error(const RemedySpec& spec, const RemedyParam& param, std::string what, std::string hint,
                 Diagnostics& diagnostics) {
  diagnostics.error(spec.file, param.value_at, std::move(what), std::move(hint));
}

void read_duration(const RemedySpec& spec, std::string_view name, DurationRange range, milliseconds& into,
                   Diagnostics& diagnostics) {
  const auto* param = find_param(spec, name);
  const auto* text = scalar(spec, param, diagnostics);
  if (text == nullptr) return;
  const auto length = parse_duration(*text);
  if (!length || *length < range.least || *length > range.most)
    return value_error(spec, *param,
                       fmt::format("{} is '{}': not a duration from {} to {}", name, printable(*text),
                                   format_duration(range.least), format_duration(range.most)),
                       "for instance " + format_duration(into), diagnostics);
  into = *length;
}

}  // namespace rdmend::remedies
