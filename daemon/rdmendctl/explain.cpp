// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "base/text.hpp"
#include "client.hpp"
#include "text_table.hpp"

// The story of an alert in plain sentences: what was seen, what was decided and why, what was done, what came
// of it.
namespace rdmend::ctl {
namespace {

void say(const std::string& sentence) {
  fmt::print("  {}\n", printable(sentence, 4000));
}

std::string clock_text(const json& at) {
  return time_text(at).substr(at.is_string() ? 11 : 0);
}

void tell_rule(const json& data) {
  for (const auto& rule : data["rules"]) {
    const auto hold = rule["for_seconds"].get<double>();
    fmt::print("{} watches: {}\n", cell(data, "alert"), printable(cell(rule, "query"), 4000));
    say(fmt::format("Looked at every {}, it fires {}. Group {}, {}.",
                    length_text(rule["interval_seconds"].get<double>()),
                    hold > 0 ? "after it has held for " + length_text(hold) : "as soon as it holds",
                    cell(rule, "group"), cell(rule, "file")));
    if (rule["health"] == "err") say("The rule cannot be evaluated now: " + cell(rule, "last_error"));
  }
}

std::string alert_sentence(const json& alert, const json& rule) {
  const auto state = alert["state"].get<std::string>();
  const auto since = clock_text(alert["active_at"]);
  if (state == "pending")
    return fmt::format("has held since {} ({}), value {}: pending, it fires once it has held for {}.", since,
                       age_text(alert["active_at"]), cell(alert, "value"),
                       length_text(rule["for_seconds"].get<double>()));
  if (state == "firing" && alert["keep_firing_since"].is_string())
    return fmt::format("has not held since {}, but is kept firing for {} as the rule wants.",
                       clock_text(alert["keep_firing_since"]),
                       length_text(rule["keep_firing_for_seconds"].get<double>()));
  if (state == "firing")
    return fmt::format("has held since {} and fires since {} ({}), value {}.", since,
                       clock_text(alert["fired_at"]), age_text(alert["fired_at"]), cell(alert, "value"));
  return fmt::format("held from {}, fired at {}, and is over since {}.", since, clock_text(alert["fired_at"]),
                     clock_text(alert["resolved_at"]));
}

void tell_seen(const json& data) {
  fmt::print("\nSeen (times are UTC)\n");
  if (data["alerts"].empty()) say("It does not hold now, and did not fire in the last 15 minutes.");
  for (const auto& alert : data["alerts"]) {
    say(labels_text(alert["labels"]) + ": " + alert_sentence(alert, data["rules"].at(0)));
    if (const auto summary = cell(alert["annotations"], "summary"); summary != "-") say("  " + summary);
  }
  constexpr std::size_t kMostEvents = 10;
  const auto& events = data["events"];
  if (events.size() > kMostEvents)
    say(fmt::format("{} earlier events of these devices are not shown; 'rdmendctl events' has them.",
                    events.size() - kMostEvents));
  for (std::size_t i = events.size() > kMostEvents ? events.size() - kMostEvents : 0; i < events.size(); ++i)
    say(fmt::format("{} {} of {}{}{}{}", clock_text(events[i]["at"]), cell(events[i], "kind"),
                    cell(events[i], "device"),
                    cell(events[i], "port") == "-" ? "" : "/" + cell(events[i], "port"),
                    cell(events[i], "detail") == "-" ? "" : ": ",
                    cell(events[i], "detail") == "-" ? "" : cell(events[i], "detail")));
}

std::string figures_text(const json& entry) {
  std::string out;
  for (const auto& [name, value] : entry["figures"].items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value.get<std::string>());
  return out.empty() ? out : " (" + out + ")";
}

// What each verdict means, as the middle of a sentence.
std::string verdict_text(const std::string& verdict) {
  static const std::map<std::string, std::string> kWords{
      {"refused", "was not done"},     {"dry_run", "would have been done, were the mode not observe"},
      {"started", "was begun"},        {"succeeded", "helped, as the evidence shows"},
      {"ineffective", "did not help"}, {"failed", "could not be done"},
      {"undone", "was given back"},    {"undo_failed", "could not be given back"}};
  const auto found = kWords.find(verdict);
  return found == kWords.end() ? verdict : found->second;
}

// The entries with one of `verdicts`, oldest first, under `title`; `none` when there is none ("" says nothing
// at all).
void tell_entries(const json& data, const char* title, std::initializer_list<std::string_view> verdicts,
                  const char* none) {
  std::vector<const json*> wanted;
  for (const auto& entry : data["entries"])
    if (std::find(verdicts.begin(), verdicts.end(), entry["verdict"].get<std::string>()) != verdicts.end())
      wanted.push_back(&entry);
  if (wanted.empty() && *none == '\0') return;
  fmt::print("\n{}\n", title);
  if (wanted.empty()) say(none);
  for (auto entry = wanted.rbegin(); entry != wanted.rend(); ++entry)
    say(fmt::format("{} {} on {} {}: {}{}", clock_text((**entry)["at"]), cell(**entry, "kind"),
                    cell(**entry, "target"), verdict_text((**entry)["verdict"].get<std::string>()),
                    cell(**entry, "reason"), figures_text(**entry)));
}

void tell_decided(const json& data) {
  const auto& steps = data["steps"];
  tell_entries(data, "Decided", {"refused", "dry_run", "started"},
               steps.empty() ? "Nothing: the rule has no remedy, it only tells." : "Nothing yet.");
  if (!steps.empty()) say("Its remedy, a step at a time while it goes on firing:");
  for (std::size_t i = 0; i < steps.size(); ++i)
    say(fmt::format("  {}. {}", i + 1, steps[i].get<std::string>()));
  say("The mode is " + cell(data, "mode_text") + ".");
}

void tell_now(const json& data) {
  for (const auto& action : data["actions"]) {
    if (action["phase"] == "ended") continue;
    fmt::print("\nNow\n");
    say(fmt::format(
        "Action {}, {} on {}: {}.{}", cell(action, "id"), cell(action, "kind"), cell(action, "target"),
        cell(action, "phase"),
        action["undoable"].get<bool>() ? " 'rdmendctl undo " + cell(action, "id") + "' gives it back." : ""));
  }
}

void tell(const json& data) {
  tell_rule(data);
  tell_seen(data);
  tell_decided(data);
  tell_entries(data, "Done", {"succeeded", "ineffective", "failed"}, "");
  tell_entries(data, "Given back", {"undone", "undo_failed"}, "");
  tell_now(data);
}

}  // namespace

void add_explain(CLI::App& parent, const Globals& globals, int& exit) {
  auto alert = std::make_shared<std::string>();
  const auto call = [alert] { return Call{"/api/v1/explain", {{"alert", *alert}}}; };
  add_question(parent, globals, exit,
               {"explain", "The story of an alert: what was seen, decided and done, and why", call, tell})
      .add_option("ALERT", *alert, "the alert's name; 'rdmendctl alerts' lists those that are up")
      ->type_name("")
      ->required();
}

}  // namespace rdmend::ctl
