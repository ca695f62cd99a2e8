// SPDX-License-Identifier: Apache-2.0
// One rule's evaluation. Prometheus' rules/alerting.go, rules/recording.go and rules/group.go are the model, down to the
// order in which an alert ages, fires and is forgotten.
#include "rules/rule_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rdmend::rules {
namespace {

constexpr std::string_view kAlerts = "ALERTS";
constexpr std::string_view kForState = "ALERTS_FOR_STATE";
constexpr std::size_t kMostAlerts = 10'000;  // of one rule, whatever the store holds

Labels with(Labels labels, std::initializer_list<std::pair<std::string_view, std::string_view>> more) {
  for (const auto& [name, value] : more) labels.set(name, value);
  return labels;
}

Result<promql::Vector> as_vector(promql::Value value) {
  if (auto* vector = std::get_if<promql::Vector>(&value)) return std::move(*vector);
  if (const auto* number = std::get_if<double>(&value)) return promql::Vector{{Labels{}, *number}};
  return Error{"rule result is not a vector or scalar", 0};
}

double unix_seconds(Timestamp at) { return static_cast<double>(std::chrono::floor<seconds>(at).time_since_epoch().count()); }

}  // namespace

void set_back(Timestamp& at, milliseconds by) {
  if (at != Timestamp{}) at -= by;
}

void set_back(Alert& alert, milliseconds by) {
  for (auto* at : {&alert.active_at, &alert.fired_at, &alert.resolved_at, &alert.keep_firing_since}) set_back(*at, by);
}

RuleState::RuleState(Rule rule) : rule_(std::move(rule)), selectors_(rule_.expression.selectors()), reach_(rule_.expression.reach()) {}

std::string RuleState::identity() const {
  std::string out = (rule_.alert.empty() ? "record " : "alert ") + name();
  for (const auto& [label, text] : rule_.labels) out += "\n" + label + "=" + text.text();
  return out;
}

bool RuleState::reads(std::span<const Labels> series) const {
  const auto matches = [](const std::vector<store::Matcher>& selector, const Labels& labels) {
    return std::all_of(selector.begin(), selector.end(), [&](const store::Matcher& m) { return m.matches(labels.get(m.name())); });
  };
  return std::any_of(selectors_.begin(), selectors_.end(), [&](const auto& selector) {
    return std::any_of(series.begin(), series.end(), [&](const Labels& labels) { return matches(selector, labels); });
  });
}

void RuleState::run(const GroupContext& group, const EngineOptions& options, store::Store& store, Timestamp at,
                    std::vector<Decision>& decisions, std::vector<Labels>* written) {
  // The only clock that is read here: a figure for rdmend_rule_evaluation_seconds, which decides nothing.
  const auto began = std::chrono::steady_clock::now();
  auto evaluation = evaluate(group, options, store, at);
  took_ = std::chrono::steady_clock::now() - began;
  last_ = at;
  evaluated_ = true;
  ++evaluations_;
  if (!evaluation) {
    ++failures_;
    last_error_ = evaluation.error().message;
    std::move(forgotten_.begin(), forgotten_.end(), std::back_inserter(decisions));
    forgotten_.clear();
    return;  // no result is no news: the series of the last evaluation are not ended
  }
  last_error_.clear();
  const Timestamp sample_at = at - group.offset;
  std::set<Labels> returned;
  for (auto& [labels, value] : evaluation->series) {
    store.append(labels, sample_at, value);
    if (written != nullptr) written->push_back(labels);
    returned.insert(std::move(labels));
  }
  for (const Labels& labels : previous_) {
    if (returned.contains(labels)) continue;
    store.append(labels, sample_at, stale_marker());
    if (written != nullptr) written->push_back(labels);
  }
  previous_ = std::move(returned);
  std::move(evaluation->decisions.begin(), evaluation->decisions.end(), std::back_inserter(decisions));
}

Result<Evaluation> RuleState::evaluate(const GroupContext& group, const EngineOptions& options, const store::Store& store, Timestamp at) {
  auto value = promql::evaluate(rule_.expression, store, at - group.offset, options.limits);
  if (!value) return value.error();
  auto vector = as_vector(std::move(*value));
  if (!vector) return vector.error();
  return rule_.alert.empty() ? record(*vector, group) : alert(*vector, group, options, at);
}

Result<Evaluation> RuleState::record(const promql::Vector& vector, const GroupContext& group) const {
  Evaluation out;
  std::set<Labels> seen;
  for (const auto& element : vector) {
    Labels labels = element.labels;
    labels.set(kMetricName, rule_.record);
    for (const auto& [name, text] : rule_.labels) labels.set(name, text.text());
    if (!seen.insert(labels).second) return Error{"vector contains metrics with the same labelset after applying rule labels", 0};
    out.series.emplace_back(std::move(labels), element.value);
  }
  if (group.limit > 0 && vector.size() > group.limit) return Error{fmt::format("exceeded limit of {} with {} series", group.limit, vector.size()), 0};
  return out;
}

Result<std::map<Labels, Alert>> RuleState::expand(const promql::Vector& vector, const GroupContext& group, const EngineOptions& options, Timestamp at) const {
  if (vector.size() > kMostAlerts) return Error{fmt::format("exceeded limit of {} with {} alerts", kMostAlerts, vector.size()), 0};
  std::map<Labels, Alert> out;
  for (const auto& element : vector) {
    const TemplateData data{element.labels, options.external_labels, options.external_url, element.value};
    Alert alert;
    alert.labels = element.labels;
    alert.labels.erase(kMetricName);
    for (const auto& [name, text] : rule_.labels) alert.labels.set(name, text.expand(data));
    alert.labels.set("alertname", rule_.alert);
    for (const auto& [name, text] : rule_.annotations) alert.annotations.set(name, text.expand(data));
    alert.rule = rule_.alert;
    alert.group = group.name;
    alert.file = group.file;
    alert.state = AlertState::pending;
    alert.value = element.value;
    alert.active_at = at;
    alert.remedy = rule_.remedy;
    alert.interval = group.interval;
    alert.query = rule_.expression.text();
    Labels key = alert.labels;
    if (!out.emplace(std::move(key), std::move(alert)).second) return Error{"vector contains metrics with the same labelset after applying alert labels", 0};
  }
  return out;
}

// Takes this evaluation's elements into the alerts known: what goes on keeps its state, what is new is pending.
void RuleState::adopt(std::map<Labels, Alert>&& fresh, const EngineOptions& options, Timestamp at, std::map<Labels, AlertState>& before) {
  for (auto& [labels, alert] : fresh) {
    const auto known = active_.find(labels);
    if (known != active_.end() && known->second.alert.state != AlertState::inactive) {
      Alert& old = known->second.alert;
      alert.state = old.state;
      alert.active_at = std::min(old.active_at, at);  // the wall clock may have been set back
      alert.fired_at = old.fired_at;
      alert.keep_firing_since = old.keep_firing_since;
      old = std::move(alert);
      continue;
    }
    before[labels] = AlertState::inactive;
    if (const auto waiting = waiting_.find(labels); waiting != waiting_.end()) {
      milliseconds remaining = rule_.hold - waiting->second.spent;
      if (rule_.hold >= options.for_grace) remaining = std::max(remaining, options.for_grace);
      alert.active_at = at + std::max(remaining, milliseconds{0}) - rule_.hold;
      waiting_.erase(waiting);
    }
    active_[labels] = {std::move(alert), {}};
  }
  std::erase_if(waiting_, [&](const auto& entry) { return at >= entry.second.until; });
}

// One alert's step in time; false when it is to be counted and written no more.
bool RuleState::advance(ActiveAlert& entry, bool holds, Timestamp at) const {
  Alert& alert = entry.alert;
  // The wall clock may have been set back. Nothing began or ended later than now: an Alertmanager refuses what ends before it starts, and
  // takes what ends in the future for firing.
  for (auto* past : {&alert.fired_at, &alert.keep_firing_since, &alert.resolved_at}) *past = std::min(*past, at);
  entry.kept_until = std::min(entry.kept_until, at + kept_after_restart(alert.interval));
  if (holds) {
    alert.keep_firing_since = {};
    entry.kept_until = {};
  } else {
    bool keep = alert.state == AlertState::firing && at < entry.kept_until;
    if (!keep && alert.state == AlertState::firing && rule_.keep_firing_for.count() > 0) {
      if (alert.keep_firing_since == Timestamp{}) alert.keep_firing_since = at;
      keep = at - alert.keep_firing_since < rule_.keep_firing_for;
    }
    if (!keep && alert.state != AlertState::inactive) {
      alert.state = AlertState::inactive;
      alert.resolved_at = at;
    }
    if (!keep) return false;
  }
  if (alert.state == AlertState::pending && at - alert.active_at >= rule_.hold) {
    alert.state = AlertState::firing;
    alert.fired_at = at;
  }
  return true;
}

Result<Evaluation> RuleState::alert(const promql::Vector& vector, const GroupContext& group, const EngineOptions& options, Timestamp at) {
  auto fresh = expand(vector, group, options, at);
  if (!fresh) return fresh.error();
  std::set<Labels> holding;
  for (const auto& [labels, alert] : *fresh) holding.insert(labels);
  std::map<Labels, AlertState> before;
  for (const auto& [labels, entry] : active_) before[labels] = entry.alert.state;
  adopt(std::move(*fresh), options, at, before);

  Evaluation out;
  std::size_t active = 0;
  for (auto at_entry = active_.begin(); at_entry != active_.end();) {
    auto& [labels, entry] = *at_entry;
    const AlertState was = before[labels];
    const bool counts = advance(entry, holding.contains(labels), at);
    if (entry.alert.state != was) out.decisions.push_back({at, was, entry.alert});
    if (counts) {
      ++active;
      const char* state = alert_state_name(entry.alert.state);
      out.series.emplace_back(with(labels, {{kMetricName, kAlerts}, {"alertname", rule_.alert}, {"alertstate", state}}), 1);
      out.series.emplace_back(with(labels, {{kMetricName, kForState}, {"alertname", rule_.alert}}), unix_seconds(entry.alert.active_at));
    }
    // A pending alert that ends was never told to anybody; one that fired is told as resolved for a while.
    const bool forget = !counts && (was == AlertState::pending || (was == AlertState::inactive && at - entry.alert.resolved_at > options.resolved_retention));
    at_entry = forget ? active_.erase(at_entry) : std::next(at_entry);
  }
  if (group.limit == 0 || active <= group.limit) return out;
  forget_all(at, before);
  return Error{fmt::format("exceeded limit of {} with {} alerts", group.limit, active), 0};
}

// As in Prometheus a rule over its limit forgets its alerts; here whoever acts on them learns that they are no more.
void RuleState::forget_all(Timestamp at, const std::map<Labels, AlertState>& before) {
  for (auto& [labels, entry] : active_) {
    const auto was = before.find(labels);
    if (was == before.end() || was->second == AlertState::inactive) continue;
    entry.alert.state = AlertState::inactive;
    entry.alert.resolved_at = at;
    forgotten_.push_back({at, was->second, std::move(entry.alert)});
  }
  active_.clear();
}

void RuleState::set_back(milliseconds by) {
  rules::set_back(last_, by);
  for (auto& [labels, entry] : active_) {
    rules::set_back(entry.alert, by);
    rules::set_back(entry.kept_until, by);
  }
  for (auto& [labels, waiting] : waiting_) rules::set_back(waiting.until, by);
  for (Decision& decision : forgotten_) rules::set_back(decision.alert, by);
}

void RuleState::inherit(RuleState& old) {
  inherited_ = true;
  active_ = std::move(old.active_);
  waiting_ = std::move(old.waiting_);
  previous_ = std::move(old.previous_);
  for (auto& [labels, entry] : active_) entry.alert.remedy = rule_.remedy;
  last_ = old.last_;
  last_error_ = old.last_error_;
  told_failing_ = old.told_failing_;
  evaluated_ = old.evaluated_;
  took_ = old.took_;
  evaluations_ = old.evaluations_;
  failures_ = old.failures_;
}

void RuleState::retire(const GroupContext& group, store::Store& store, Timestamp at, std::vector<Decision>& decisions) {
  for (const Labels& labels : previous_) store.append(labels, at - group.offset, stale_marker());
  previous_.clear();
  for (auto& [labels, entry] : active_) {
    if (entry.alert.state == AlertState::inactive) continue;
    const AlertState was = entry.alert.state;
    entry.alert.state = AlertState::inactive;
    entry.alert.resolved_at = at;
    decisions.push_back({at, was, entry.alert});
  }
}

milliseconds RuleState::kept_after_restart(milliseconds interval) const { return reach_ + 2 * interval; }

void RuleState::restore(const SavedAlert& saved, const GroupContext& group, Timestamp now) {
  const Timestamp until = now + kept_after_restart(group.interval);
  if (saved.state == AlertState::pending) {
    const auto spent = saved.saved_at == Timestamp{} ? milliseconds{0} : saved.saved_at - saved.active_at;
    waiting_[saved.labels] = {std::max(spent, milliseconds{0}), until};
    return;
  }
  if (saved.state != AlertState::firing || active_.contains(saved.labels)) return;
  Alert alert;
  alert.rule = rule_.alert;
  alert.group = group.name;
  alert.file = group.file;
  alert.labels = saved.labels;
  alert.annotations = saved.annotations;
  alert.state = AlertState::firing;
  alert.value = saved.value;
  alert.active_at = std::min(saved.active_at, now);
  alert.fired_at = std::min(saved.fired_at, now);
  alert.remedy = rule_.remedy;
  alert.interval = group.interval;
  alert.query = rule_.expression.text();
  active_[saved.labels] = {std::move(alert), until};
}

void RuleState::save(const GroupContext& group, std::vector<SavedAlert>& out) const {
  for (const auto& [labels, entry] : active_) {
    const Alert& alert = entry.alert;
    if (alert.state == AlertState::inactive) continue;
    out.push_back({group.name, alert.rule, labels, alert.state, alert.active_at, alert.fired_at, alert.keep_firing_since, last_, alert.value, alert.annotations});
  }
}

std::optional<HealthChange> RuleState::health_change(const GroupContext& group) {
  if (told_failing_ == !last_error_.empty()) return std::nullopt;
  told_failing_ = !last_error_.empty();
  return HealthChange{group.name, group.file, name(), last_error_};
}

RuleStatus RuleState::status(const GroupContext& group) const {
  RuleStatus out;
  out.group = group.name;
  out.file = group.file;
  out.name = name();
  out.alerting = !rule_.alert.empty();
  out.query = rule_.expression.text();
  out.hold = rule_.hold;
  out.keep_firing_for = rule_.keep_firing_for;
  out.interval = group.interval;
  for (const auto& [label, text] : rule_.labels) out.labels.set(label, text.text());
  for (const auto& [note, text] : rule_.annotations) out.annotations.set(note, text.text());
  if (evaluated_) out.health = last_error_.empty() ? "ok" : "err";
  out.last_error = last_error_;
  out.last_evaluation = last_;
  out.evaluation_time = took_;
  out.evaluations = evaluations_;
  out.failures = failures_;
  for (const auto& [labels, entry] : active_)
    if (entry.alert.state != AlertState::inactive) out.alerts.push_back(entry.alert);
  return out;
}

}  // namespace rdmend::rules
