// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <span>

#include "rules/template_tree.hpp"

namespace rdmend::rules {
namespace {

// Thrown to leave a run, caught in expand(): the language has no way to go on after a fault.
struct Stop {
  Position at;
  std::string what;
};

class Run {
 public:
  explicit Run(const TemplateData& data) : data_(data) {
    variables_ = {{"$", Root{}},
                  {"$labels", &data.labels},
                  {"$externalLabels", &data.external_labels},
                  {"$externalURL", std::string(data.external_url)},
                  {"$value", data.value}};
  }

  void list(const std::vector<Piece>& pieces, const Value& dot) {
    for (const Piece& piece : pieces) this->piece(piece, dot);
  }
  std::string take() { return std::move(out_); }

 private:
  void write(std::string_view text, Position at) {
    if (out_.size() + text.size() > kMostOutput) throw Stop{at, fmt::format("the text is longer than {} bytes", kMostOutput)};
    out_ += text;
  }

  void piece(const Piece& piece, const Value& dot) {
    step(piece.at);
    if (piece.kind == Piece::Kind::text) return write(piece.text, piece.at);
    const std::size_t scope = variables_.size();
    const Value value = pipeline(piece.pipeline, dot, piece.kind == Piece::Kind::range);
    switch (piece.kind) {
      case Piece::Kind::text: break;
      case Piece::Kind::print:
        if (piece.pipeline.variables.empty()) write(go_text(value), piece.at);
        return;  // a variable that is declared here lives on
      case Piece::Kind::branch: list(truth(value) ? piece.body : piece.otherwise, dot); break;
      case Piece::Kind::with:
        if (truth(value))
          list(piece.body, value);
        else
          list(piece.otherwise, dot);
        break;
      case Piece::Kind::range: range(piece, value, dot); break;
    }
    variables_.resize(scope);
  }

  void range(const Piece& piece, const Value& value, const Value& dot) {
    const auto* labels = std::get_if<const Labels*>(&value);
    if (labels == nullptr) throw Stop{piece.at, fmt::format("range can't iterate over {}", go_text(value))};
    const auto& names = piece.pipeline.variables;
    const std::size_t scope = variables_.size();
    for (const auto& [name, text] : **labels) {
      if (names.size() == 2) assign(piece.pipeline, 0, std::string(name));
      if (!names.empty()) assign(piece.pipeline, names.size() - 1, std::string(text));
      list(piece.body, std::string(text));
      variables_.resize(scope);
    }
    if ((*labels)->empty()) list(piece.otherwise, dot);
  }

  void assign(const Pipeline& pipeline, std::size_t index, Value value) {
    const std::string& name = pipeline.variables[index];
    if (!pipeline.assigns) {
      variables_.emplace_back(name, std::move(value));
      return;
    }
    for (auto at = variables_.rbegin(); at != variables_.rend(); ++at)
      if (at->first == name) {
        at->second = std::move(value);
        return;
      }
  }

  Value pipeline(const Pipeline& pipeline, const Value& dot, bool range = false) {
    Value value;
    for (std::size_t i = 0; i < pipeline.commands.size(); ++i) value = command(pipeline.commands[i], dot, i > 0 ? &value : nullptr);
    if (!pipeline.variables.empty() && !range) assign(pipeline, 0, value);
    return value;
  }

  Value command(const Command& command, const Value& dot, const Value* piped) {
    step(command.at);
    const Operand& head = command.operands.front();
    if (head.kind != Operand::Kind::function) return operand(head, dot);
    return call(head, std::span(command.operands).subspan(1), dot, piped);
  }

  Value call(const Operand& head, std::span<const Operand> operands, const Value& dot, const Value* piped) {
    const Function& function = *head.function;
    if (function.call == nullptr) return and_or(function.name == "and", operands, dot, piped);
    std::vector<Value> arguments;
    for (const Operand& one : operands) arguments.push_back(operand(one, dot));
    if (piped != nullptr) arguments.push_back(*piped);
    Outcome outcome = function.call(arguments);
    if (const auto* error = std::get_if<RunError>(&outcome)) throw Stop{head.at, fmt::format("error calling {}: {}", function.name, error->what)};
    Value& value = std::get<Value>(outcome);
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->size() > kMostOutput) throw Stop{head.at, fmt::format("the text is longer than {} bytes", kMostOutput)};
    return fields(head, std::move(value));
  }

  // The first argument that decides, those behind it not evaluated.
  Value and_or(bool is_and, std::span<const Operand> operands, const Value& dot, const Value* piped) {
    Value value;
    for (const Operand& one : operands) {
      value = operand(one, dot);
      if (truth(value) != is_and) return value;
    }
    return piped != nullptr ? *piped : value;
  }

  Value operand(const Operand& operand, const Value& dot) {
    step(operand.at);
    switch (operand.kind) {
      case Operand::Kind::text: return operand.text;
      case Operand::Kind::whole: return operand.whole;
      case Operand::Kind::number: return operand.number;
      case Operand::Kind::boolean: return operand.boolean;
      case Operand::Kind::nil: return std::monostate{};
      case Operand::Kind::dot: return fields(operand, dot);
      case Operand::Kind::variable:
        for (auto at = variables_.rbegin(); at != variables_.rend(); ++at)
          if (at->first == operand.text) return fields(operand, at->second);
        return std::monostate{};
      case Operand::Kind::function: return call(operand, {}, dot, nullptr);
      case Operand::Kind::pipeline: return fields(operand, pipeline(*operand.pipeline, dot));
    }
    return std::monostate{};
  }

  Value fields(const Operand& operand, Value value) {
    for (const std::string& name : operand.fields) {
      if (const auto* labels = std::get_if<const Labels*>(&value))
        value = std::string((*labels)->get(name));  // a label that is not there is "", as with Prometheus' missingkey=zero
      else if (std::holds_alternative<Root>(value) && name == "Labels")
        value = &data_.labels;
      else if (std::holds_alternative<Root>(value) && name == "ExternalLabels")
        value = &data_.external_labels;
      else if (std::holds_alternative<Root>(value) && name == "ExternalURL")
        value = std::string(data_.external_url);
      else if (std::holds_alternative<Root>(value) && name == "Value")
        value = data_.value;
      else
        throw Stop{operand.at, fmt::format("can't evaluate field {} in type {}", name, go_type(value))};
    }
    return value;
  }

  void step(Position at) {
    if (++steps_ > kMostSteps) throw Stop{at, "the template takes too long"};
  }

  const TemplateData& data_;
  std::string out_;
  std::vector<std::pair<std::string, Value>> variables_;
  std::size_t steps_ = 0;
};

}  // namespace

Template Template::literal(std::string text) {
  Template out;
  out.text_ = std::move(text);
  return out;
}

std::string Template::expand(const TemplateData& data) const {
  if (tree_ == nullptr) return text_;
  Run run(data);
  try {
    run.list(tree_->pieces, Root{});
  } catch (const Stop& stop) {
    return fmt::format("<error expanding template: {}:{}: {}>", stop.at.line, stop.at.column, stop.what);
  }
  return run.take();
}

}  // namespace rdmend::rules
