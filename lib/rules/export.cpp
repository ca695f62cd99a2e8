// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>

#include "rules/rule_file.hpp"
#include "yaml/document.hpp"

namespace rdmend::rules {
namespace {

using yaml::Entry;
using yaml::Node;

// The nesting of a rule within the file: {groups: [{rules: [{remedy: ...}]}]}.
void drop_remedies(Node& root) {
  for (Entry& top : root.entries)
    for (Node& group : top.value.items)
      for (Entry& of_group : group.entries)
        for (Node& rule : of_group.value.items)
          std::erase_if(rule.entries, [](const Entry& entry) { return entry.key == "remedy"; });
}

// A text of several lines that a literal block gives back exactly.
bool fits_literal(const std::string& text) {
  return text.find('\n') < text.size() - 1 && text.ends_with('\n') && !text.ends_with("\n\n") && text.find_first_of(" \t\n") != 0 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

void emit(YAML::Emitter& out, const Node& node, bool blocks) {
  switch (node.kind) {
    case Node::Kind::null: out << YAML::Null; break;
    case Node::Kind::scalar:
      if (!node.plain && blocks && fits_literal(node.text))
        out << YAML::Literal << node.text.substr(0, node.text.size() - 1);
      else if (!node.plain || node.text.find('\n') != std::string::npos)
        out << YAML::DoubleQuoted << node.text;
      else
        out << node.text;
      break;
    case Node::Kind::list:
      out << YAML::BeginSeq;
      for (const Node& item : node.items) emit(out, item, blocks);
      out << YAML::EndSeq;
      break;
    case Node::Kind::map:
      out << YAML::BeginMap;
      for (const Entry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value, blocks);
      }
      out << YAML::EndMap;
      break;
  }
}

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text && (a.plain || !b.plain) &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const Entry& x, const Entry& y) { return x.key == y.key && same(x.value, y.value); });
}

}  // namespace

Result<std::string> export_rule_file(const std::string& file, const std::string& text) {
  Diagnostics diagnostics;
  parse_rule_file(file, text, diagnostics);
  if (diagnostics.failed()) return Error{diagnostics.text(), 0};
  auto root = yaml::parse(file, text, diagnostics);
  if (!root) return Error{diagnostics.text(), 0};
  drop_remedies(*root);
  // Blocks read best; where they would not give the text back exactly, quotes do.
  for (const bool blocks : {true, false}) {
    try {
      YAML::Emitter out;
      emit(out, *root, blocks);
      std::string written = std::string(out.c_str()) + "\n";
      Diagnostics again;
      const auto read = yaml::parse(file, written, again);
      if (read && !again.failed() && same(*root, *read)) return written;
    } catch (const YAML::Exception& e) {
      return Error{file + ": " + e.what(), 0};
    }
  }
  return Error{file + ": cannot be written without changing its meaning", 0};
}

}  // namespace rdmend::rules
