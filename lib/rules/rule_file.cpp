// SPDX-License-Identifier: Apache-2.0
// Prometheus' rule files (its model/rulefmt says what is legal), with `remedy` on alerting rules.
#include "rules/rule_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "base/text.hpp"
#include "rules/remedy_list.hpp"
#include "yaml/reader.hpp"

namespace rdmend::rules {
namespace {

using yaml::Entry;
using yaml::Node;

bool name_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_label_name(std::string_view name) {
  return !name.empty() && name_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) { return name_letter(c) || std::isdigit(static_cast<unsigned char>(c)); });
}
bool is_metric_name(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), ':', '_');
  return is_label_name(plain);
}

// A label or annotation of the file, before its text is known to be a template or not.
struct Written {
  std::string name;
  const Node* value;
};

// One rule's keys as they stand, judged together once all of them are known.
struct Draft {
  const Entry* alert = nullptr;
  const Entry* record = nullptr;
  const Entry* expr = nullptr;
  const Entry* hold = nullptr;
  const Entry* keep = nullptr;
  const Entry* annotations_key = nullptr;
  const Entry* remedy = nullptr;
  std::vector<Written> labels, annotations;
};

class FileParser {
 public:
  FileParser(const std::string& file, const std::string& source, Diagnostics& diagnostics)
      : source_(source), reader_(file, diagnostics) {}

  std::vector<Group> run(const Node& root) {
    reader_.map(root, "a rule file", {{"groups", [&](const Entry& e) { reader_.list(e.value, "groups", [&](const Node& n) { group(n); }); }}});
    return std::move(groups_);
  }

 private:
  void group(const Node& node) {
    Group group;
    group.file = reader_.file();
    group.at = node.at;
    const Node* rules = nullptr;
    std::vector<Written> labels;
    bool named = false;
    reader_.map(node, "a group",
                {{"name", [&](const Entry& e) {
                    named = true;
                    group.name = reader_.text(e.value, "name").value_or("?");
                    if (group.name.empty()) reader_.error(e.value.at, "the group's name is empty");
                    for (const Group& other : groups_)
                      if (!group.name.empty() && other.name == group.name) reader_.error(e.value.at, fmt::format("a second group '{}'", printable(group.name, 64)), fmt::format("the first is at line {}", other.at.line));
                  }},
                 {"interval", [&](const Entry& e) { group.interval = reader_.duration(e.value, "interval", milliseconds{10}).value_or(milliseconds{0}); }},
                 {"query_offset", [&](const Entry& e) { group.query_offset = reader_.duration(e.value, "query_offset").value_or(milliseconds{0}); }},
                 {"limit", [&](const Entry& e) { group.limit = reader_.count(e.value, "limit", 0).value_or(0); }},
                 {"labels", [&](const Entry& e) { labels = named_texts(e.value, "labels", true); }},
                 {"rules", [&](const Entry& e) { rules = &e.value; }}});
    if (node.kind != Node::Kind::map) return;
    if (!named) reader_.error(node.at, "the group has no name");
    for (const Written& label : labels) {
      group.labels.emplace_back(label.name, label.value->text);
      template_of(*label.value);  // it becomes a template of every alert: its faults are told once, here
    }
    if (rules != nullptr) reader_.list(*rules, "rules", [&](const Node& n) { rule(n, group, labels); });
    groups_.push_back(std::move(group));
  }

  void rule(const Node& node, Group& group, const std::vector<Written>& group_labels) {
    Draft draft;
    const auto keep = [](const Entry*& slot) { return [&slot](const Entry& e) { slot = &e; }; };
    reader_.map(node, "a rule",
                {{"alert", keep(draft.alert)},
                 {"record", keep(draft.record)},
                 {"expr", keep(draft.expr)},
                 {"for", keep(draft.hold)},
                 {"keep_firing_for", keep(draft.keep)},
                 {"labels", [&](const Entry& e) { draft.labels = named_texts(e.value, "labels", true); }},
                 {"annotations", [&](const Entry& e) {
                    draft.annotations_key = &e;
                    draft.annotations = named_texts(e.value, "annotations", false);
                  }},
                 {"remedy", keep(draft.remedy)}});
    if (node.kind != Node::Kind::map) return;
    for (const Written& label : group_labels) {
      const auto same = [&](const Written& own) { return own.name == label.name; };
      if (std::none_of(draft.labels.begin(), draft.labels.end(), same)) draft.labels.push_back(label);
    }
    std::sort(draft.labels.begin(), draft.labels.end(), [](const Written& a, const Written& b) { return a.name < b.name; });
    finish(node, draft, group);
  }

  void finish(const Node& node, const Draft& draft, Group& group) {
    if ((draft.alert == nullptr) == (draft.record == nullptr)) {
      reader_.error(node.at, draft.alert == nullptr ? "a rule has 'alert' or 'record'; this has neither" : "a rule has 'alert' or 'record'; this has both");
      if (draft.expr != nullptr) expression(*draft.expr);
      return;
    }
    const bool alerting = draft.alert != nullptr;
    const std::string name = this->name(alerting ? *draft.alert : *draft.record, alerting);
    auto parsed = draft.expr != nullptr ? expression(*draft.expr) : std::nullopt;
    if (draft.expr == nullptr) reader_.error(node.at, fmt::format("the rule '{}' has no expr", printable(name, 64)));
    Rule rule{alerting ? name : "", alerting ? "" : name, parsed.value_or(promql::Expression(nullptr)), {}, {}, {}, {}, nullptr, node.at};
    if (alerting)
      finish_alert(draft, rule);
    else
      finish_record(draft, rule);
    note_duplicate(rule, node.at);
    group.rules.push_back(std::move(rule));  // without an expression too: its remedies can still be judged
  }

  std::string name(const Entry& entry, bool alerting) {
    auto text = reader_.text(entry.value, entry.key);
    if (!text) return "?";
    if (text->empty())
      reader_.error(entry.value.at, fmt::format("the {}'s name is empty", alerting ? "alert" : "record"));
    else if (!alerting && !is_metric_name(*text))
      reader_.error(entry.value.at, fmt::format("'{}' is not a metric name", printable(*text, 64)), "letters, digits, '_' and ':', not beginning with a digit");
    return *text;
  }

  void finish_alert(const Draft& draft, Rule& rule) {
    if (draft.hold != nullptr) rule.hold = reader_.duration(draft.hold->value, "for").value_or(milliseconds{0});
    if (draft.keep != nullptr) rule.keep_firing_for = reader_.duration(draft.keep->value, "keep_firing_for").value_or(milliseconds{0});
    for (const Written& label : draft.labels) rule.labels.emplace_back(label.name, template_of(*label.value));
    for (const Written& note : draft.annotations) rule.annotations.emplace_back(note.name, template_of(*note.value));
    if (draft.remedy != nullptr) rule.remedy = read_remedies(reader_, draft.remedy->value);
  }

  void finish_record(const Draft& draft, Rule& rule) {
    for (const Entry* entry : {draft.hold, draft.keep, draft.annotations_key, draft.remedy})
      if (entry != nullptr) reader_.error(entry->at, fmt::format("'{}' on a recording rule", entry->key), "only alerting rules have it");
    for (const Written& label : draft.labels) rule.labels.emplace_back(label.name, Template::literal(label.value->text));
  }

  std::optional<promql::Expression> expression(const Entry& entry) {
    const auto text = reader_.text(entry.value, "expr");
    if (!text) return std::nullopt;
    if (trim(*text).empty()) {
      reader_.error(entry.value.at, "expr is empty");
      return std::nullopt;
    }
    auto parsed = promql::parse(*text);
    if (const auto* faults = std::get_if<std::vector<promql::ParseError>>(&parsed)) {
      for (const auto& fault : *faults) report(entry.value, fault);
      return std::nullopt;
    }
    auto& expression = std::get<promql::Expression>(parsed);
    if (expression.type() == promql::ValueType::matrix || expression.type() == promql::ValueType::string) {
      reader_.error(entry.value.at, fmt::format("the expression gives a {}", expression.type() == promql::ValueType::matrix ? "range of samples" : "text"),
                    "a rule's expression gives a number for each series, or one number");
      return std::nullopt;
    }
    return std::move(expression);
  }

  Template template_of(const Node& node) {
    auto parsed = Template::parse(node.text);
    if (auto* good = std::get_if<Template>(&parsed)) return std::move(*good);
    if (std::find(reported_.begin(), reported_.end(), &node) == reported_.end())
      for (const auto& fault : std::get<std::vector<promql::ParseError>>(parsed)) report(node, fault);
    reported_.push_back(&node);
    return Template::literal("");
  }

  void report(const Node& scalar, const promql::ParseError& fault) {
    reader_.error(yaml::locate(source_, scalar, fault.at), fault.what, fault.hint);
  }

  std::vector<Written> named_texts(const Node& node, std::string_view what, bool labels) {
    std::vector<Written> out;
    reader_.each(node, what, [&](const Entry& entry) {
      if (!is_label_name(entry.key) || (labels && entry.key == kMetricName))
        return reader_.error(entry.at, fmt::format("{}: '{}' is not a legal name", what, printable(entry.key, 64)), "letters, digits and '_', not beginning with a digit");
      if (reader_.text(entry.value, fmt::format("{}.{}", what, entry.key))) out.push_back({entry.key, &entry.value});
    });
    return out;
  }

  // Prometheus loads two rules of one name and labels, but they hide each other: its promtool warns as well.
  void note_duplicate(const Rule& rule, Position at) {
    std::string identity = rule.alert + "\n" + rule.record;
    for (const auto& [name, text] : rule.labels) identity += "\n" + name + "=" + text.text();
    const auto [first, fresh] = identities_.emplace(std::move(identity), at);
    if (!fresh)
      reader_.warning(at, fmt::format("a second rule '{}' with the same labels", printable(rule.alert.empty() ? rule.record : rule.alert, 64)), fmt::format("the first is at line {}", first->second.line));
  }

  const std::string& source_;
  yaml::Reader reader_;
  std::vector<Group> groups_;
  std::map<std::string, Position> identities_;
  std::vector<const Node*> reported_;
};

}  // namespace

std::vector<Group> parse_rule_file(const std::string& file, const std::string& text, Diagnostics& diagnostics) {
  const auto root = yaml::parse(file, text, diagnostics);
  if (!root) return {};
  return FileParser(file, text, diagnostics).run(*root);
}

}  // namespace rdmend::rules
