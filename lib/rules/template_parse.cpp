// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "rules/template_lexer.hpp"
#include "rules/template_tree.hpp"

namespace rdmend::rules {
namespace {

using promql::ParseError;

constexpr std::string_view kLegalWords = "if, else, with, range, end";

// What stopped the reading of one action; the rest of the template is read on.
struct Broken {};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  std::vector<Piece> run() {
    std::vector<Piece> pieces;
    declare("$labels");
    declare("$externalLabels");
    declare("$externalURL");
    declare("$value");
    declare("$");
    while (true) {
      const Ending ending = list(pieces);
      if (ending.kind == Ending::Kind::end_of_text) break;
      fault(ending.at, fmt::format("'{}' without an if, with or range before it", ending.kind == Ending::Kind::end ? "end" : "else"));
    }
    return pieces;
  }
  std::vector<ParseError> take_faults() { return std::move(faults_); }

 private:
  // What a list of pieces ended with.
  struct Ending {
    enum class Kind { end_of_text, end, otherwise };
    Kind kind = Kind::end_of_text;
    Position at;
    bool more = false;  // else if: the branch's own tokens wait in the lexer
  };

  void fault(Position at, std::string what, std::string hint = {}) {
    if (faults_.size() < 20) faults_.push_back({at, std::move(what), std::move(hint)});
  }
  [[noreturn]] void broken(Position at, std::string what, std::string hint = {}) {
    fault(at, std::move(what), std::move(hint));
    throw Broken{};
  }
  void declare(std::string name) { variables_.push_back(std::move(name)); }
  [[nodiscard]] bool known(const std::string& name) const { return std::find(variables_.begin(), variables_.end(), name) != variables_.end(); }

  Ending list(std::vector<Piece>& out) {
    while (true) {
      if (std::string text = lexer_.text(); !text.empty()) out.push_back({Piece::Kind::text, {}, std::move(text), {}, {}, {}});
      if (lexer_.at_end()) return {};
      try {
        lexer_.open();
        for (auto& lexical : lexer_.take_faults()) {
          fault(lexical.at, lexical.what, lexical.hint);
          throw Broken{};
        }
        if (lexer_.peek().kind == Token::Kind::close) {
          if (lexer_.was_comment()) {
            lexer_.close();
            continue;
          }
          broken(lexer_.peek().at, "nothing between {{ and }}");
        }
        if (auto ending = action(out)) return *ending;
      } catch (const Broken&) {
        lexer_.skip_action();
      }
    }
  }

  std::optional<Ending> action(std::vector<Piece>& out) {
    const Token word = lexer_.peek();
    if (word.kind == Token::Kind::word) {
      if (word.text == "end" || word.text == "else") return ending(word);
      if (word.text == "if") return block(out, Piece::Kind::branch), std::nullopt;
      if (word.text == "with") return block(out, Piece::Kind::with), std::nullopt;
      if (word.text == "range") return block(out, Piece::Kind::range), std::nullopt;
      for (const std::string_view other : {"template", "define", "block", "break", "continue"})
        if (word.text == other) broken(word.at, fmt::format("'{}' is not in rdmend's part of the template language", other), fmt::format("legal are: {}", kLegalWords));
    }
    Piece piece{Piece::Kind::print, word.at, {}, pipeline(false), {}, {}};
    close();
    out.push_back(std::move(piece));
    return std::nullopt;
  }

  Ending ending(const Token& word) {
    lexer_.next();
    if (word.text == "end") {
      close();
      return {Ending::Kind::end, word.at};
    }
    const Token follow = lexer_.peek();
    if (follow.kind == Token::Kind::close) {
      close();
      return {Ending::Kind::otherwise, word.at};
    }
    if (follow.kind == Token::Kind::word && (follow.text == "if" || follow.text == "with")) return {Ending::Kind::otherwise, word.at, true};
    broken(follow.at, fmt::format("unexpected '{}' behind else", follow.text), "legal are: {{else}}, {{else if ...}}, {{else with ...}}");
  }

  // if, with, range: the word is still to be read.
  void block(std::vector<Piece>& out, Piece::Kind kind) {
    const Token word = lexer_.next();
    if (++depth_ > kMostDepth) broken(word.at, fmt::format("nested deeper than {} levels", kMostDepth));
    const std::size_t scope = variables_.size();
    Piece piece{kind, word.at, {}, {}, {}, {}};
    try {
      piece.pipeline = pipeline(kind == Piece::Kind::range);
      close();
    } catch (const Broken&) {
      lexer_.skip_action();  // its body and its end belong to it all the same
    }
    if (kind != Piece::Kind::branch) ++inside_other_dot_;
    Ending ending = list(piece.body);
    if (kind != Piece::Kind::branch) --inside_other_dot_;
    variables_.resize(std::min(variables_.size(), scope + piece.pipeline.variables.size()));
    if (ending.kind == Ending::Kind::otherwise && ending.more) {
      const bool with = lexer_.peek().text == "with";
      block(piece.otherwise, with ? Piece::Kind::with : Piece::Kind::branch);
    } else if (ending.kind == Ending::Kind::otherwise) {
      ending = list(piece.otherwise);
      if (ending.kind == Ending::Kind::otherwise) fault(ending.at, "a second else", "one if has one else");
      while (ending.kind == Ending::Kind::otherwise) ending = list(piece.otherwise);
    }
    if (ending.kind == Ending::Kind::end_of_text) fault(word.at, fmt::format("'{}' without its {{{{end}}}}", word.text));
    variables_.resize(scope);
    --depth_;
    out.push_back(std::move(piece));
  }

  void close() {
    const Token token = lexer_.peek();
    if (token.kind != Token::Kind::close) broken(token.at, fmt::format("unexpected '{}'", token.text), "expected }} here");
    lexer_.close();
  }

  Pipeline pipeline(bool range) {
    if (++depth_ > kMostDepth) broken(lexer_.peek().at, fmt::format("nested deeper than {} levels", kMostDepth));
    Pipeline out;
    std::vector<std::string> declared;
    if (lexer_.peek().kind == Token::Kind::variable && lexer_.declares()) {
      out.variables.push_back(lexer_.next().text);
      if (lexer_.peek().kind == Token::Kind::comma) {
        const Token comma = lexer_.next();
        if (!range) broken(comma.at, "two variables", "only a range declares two");
        if (lexer_.peek().kind != Token::Kind::variable) broken(lexer_.peek().at, "a variable is missing behind the comma");
        out.variables.push_back(lexer_.next().text);
      }
      const Token sign = lexer_.next();
      if (sign.kind != Token::Kind::declare && sign.kind != Token::Kind::assign) broken(sign.at, fmt::format("unexpected '{}'", sign.text), "expected := here");
      out.assigns = sign.kind == Token::Kind::assign;
      for (const auto& name : out.variables)
        if (out.assigns && !known(name)) fault(sign.at, fmt::format("unknown variable '{}'", name), "declare it with :=");
    }
    while (true) {
      out.commands.push_back(command(out.commands.empty()));
      if (lexer_.peek().kind != Token::Kind::pipe) break;
      lexer_.next();
    }
    if (!out.assigns)
      for (const auto& name : out.variables) declare(name);
    --depth_;
    return out;
  }

  Command command(bool first) {
    Command out;
    out.at = lexer_.peek().at;
    while (is_operand(lexer_.peek())) out.operands.push_back(operand());
    if (out.operands.empty()) {
      const Token token = lexer_.peek();
      broken(token.at, token.kind == Token::Kind::close || token.kind == Token::Kind::right ? "a value is missing" : fmt::format("unexpected '{}'", printable(token.text, 40)));
    }
    const Operand& head = out.operands.front();
    const std::size_t given = out.operands.size() - 1 + (first ? 0 : 1);
    if (head.kind == Operand::Kind::function) {
      check_call(head, out, given);
    } else if (given > 0) {
      fault(head.at, "this is no function: it takes no argument", fmt::format("functions are: {}", fmt::join(function_names(), ", ")));
    }
    for (std::size_t i = 1; i < out.operands.size(); ++i)
      if (out.operands[i].kind == Operand::Kind::function && out.operands[i].function->least > 0)
        fault(out.operands[i].at, fmt::format("{} needs arguments", out.operands[i].function->name), "put the call in parentheses");
    return out;
  }

  void check_call(const Operand& head, const Command& command, std::size_t given) {
    const Function& function = *head.function;
    if (given < function.least || given > function.most)
      fault(head.at, function.least == function.most ? fmt::format("{} takes {} argument{}, not {}", function.name, function.least, function.least == 1 ? "" : "s", given)
                                                     : fmt::format("{} takes at least {} argument{}, not {}", function.name, function.least, function.least == 1 ? "" : "s", given));
    if (command.operands.size() < 2 || command.operands[1].kind != Operand::Kind::text) return;
    const Operand& literal = command.operands[1];
    if (function.name == "printf")
      if (const char verb = unknown_verb(literal.text); verb != 0) fault(literal.at, fmt::format("printf: verb '%{}' is not known", printable(std::string_view(&verb, 1))), "legal are: %v %d %s %q %f %e %g %x %t %%");
    if (function.name == "match" || function.name == "reReplaceAll")
      if (const auto wrong = regex_fault(literal.text); !wrong.empty()) fault(literal.at, fmt::format("not a regular expression: {}", wrong));
  }

  static bool is_operand(const Token& token) {
    using enum Token::Kind;
    return token.kind == text || token.kind == number || token.kind == dot || token.kind == field || token.kind == variable || token.kind == word || token.kind == left;
  }

  Operand operand() {
    const Token token = lexer_.next();
    Operand out;
    out.at = token.at;
    switch (token.kind) {
      case Token::Kind::text:
        out.kind = Operand::Kind::text;
        out.text = token.text;
        break;
      case Token::Kind::number: number(token, out); break;
      case Token::Kind::dot: out.kind = Operand::Kind::dot; break;
      case Token::Kind::field:
        out.kind = Operand::Kind::dot;
        out.fields.push_back(token.text);
        break;
      case Token::Kind::variable:
        out.kind = Operand::Kind::variable;
        out.text = token.text;
        if (!known(token.text)) {
          std::vector<std::string_view> names(variables_.begin(), variables_.end());
          fault(token.at, fmt::format("unknown variable '{}'", printable(token.text, 64)), did_you_mean(token.text, names));
        }
        break;
      case Token::Kind::word: word(token, out); break;
      default:
        out.kind = Operand::Kind::pipeline;
        out.pipeline = std::make_shared<const Pipeline>(pipeline(false));
        if (lexer_.peek().kind != Token::Kind::right) broken(lexer_.peek().at, "')' is missing");
        lexer_.next();
    }
    while (lexer_.peek().kind == Token::Kind::field && lexer_.peek().joined) out.fields.push_back(lexer_.next().text);
    check_fields(out);
    return out;
  }

  // What the data has is known, so a field that cannot exist is told here rather than when the alert fires.
  void check_fields(const Operand& operand) {
    if (operand.fields.empty()) return;
    constexpr std::string_view kFields[] = {"Labels", "ExternalLabels", "ExternalURL", "Value"};
    const bool root = (operand.kind == Operand::Kind::dot && inside_other_dot_ == 0) || (operand.kind == Operand::Kind::variable && operand.text == "$");
    const std::string& field = operand.fields.front();
    if (root && std::find(std::begin(kFields), std::end(kFields), field) == std::end(kFields))
      fault(operand.at, fmt::format("unknown field '.{}'", printable(field, 64)), did_you_mean(field, kFields));
    const bool scalar = (root && (field == "Value" || field == "ExternalURL") && operand.fields.size() > 1) ||
                        (operand.kind == Operand::Kind::variable && (operand.text == "$value" || operand.text == "$externalURL"));
    if (scalar) fault(operand.at, fmt::format("a {} has no field '.{}'", operand.text == "$value" || field == "Value" ? "number" : "text", printable(operand.fields.back(), 64)));
  }

  void number(const Token& token, Operand& out) {
    const char* begin = token.text.data() + (token.text.starts_with('+') ? 1 : 0);
    const char* end = token.text.data() + token.text.size();
    if (token.text.find_first_of(".eE") == std::string::npos) {
      out.kind = Operand::Kind::whole;
      const auto [stop, fault_code] = std::from_chars(begin, end, out.whole);
      if (fault_code == std::errc{} && stop == end) return;
    }
    out.kind = Operand::Kind::number;
    const auto [stop, fault_code] = std::from_chars(begin, end, out.number);
    if (fault_code != std::errc{} || stop != end) fault(token.at, fmt::format("'{}' is not a number", printable(token.text, 40)));
  }

  void word(const Token& token, Operand& out) {
    if (token.text == "true" || token.text == "false") {
      out.kind = Operand::Kind::boolean;
      out.boolean = token.text == "true";
      return;
    }
    if (token.text == "nil") {
      out.kind = Operand::Kind::nil;
      return;
    }
    out.kind = Operand::Kind::function;
    out.function = find_function(token.text);
    if (out.function != nullptr) return;
    if (is_refused_function(token.text)) broken(token.at, fmt::format("function '{}' is not in rdmend's part of the template language", token.text));
    broken(token.at, fmt::format("unknown function '{}'", printable(token.text, 64)), did_you_mean(token.text, function_names()));
  }

  Lexer lexer_;
  std::vector<ParseError> faults_;
  std::vector<std::string> variables_;
  std::size_t depth_ = 0;
  std::size_t inside_other_dot_ = 0;
};

}  // namespace

std::variant<Template, std::vector<ParseError>> Template::parse(std::string_view text) {
  Parser parser(text);
  auto tree = std::make_shared<Tree>();
  tree->pieces = parser.run();
  if (auto faults = parser.take_faults(); !faults.empty()) return faults;
  Template out;
  out.text_ = text;
  out.tree_ = std::move(tree);
  return out;
}

}  // namespace rdmend::rules
