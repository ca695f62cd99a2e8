// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "model/labels.hpp"
#include "promql/promql.hpp"

namespace rdmend::rules {

struct TemplateData {
  const Labels& labels;
  const Labels& external_labels;
  std::string_view external_url;
  double value = 0;
};

// A label's or annotation's text in Go's template language, the part of it that needs no queries.
class Template {
 public:
  static std::variant<Template, std::vector<promql::ParseError>> parse(std::string_view text);
  // A text that is taken as it is, whatever braces stand in it.
  static Template literal(std::string text);
  // The expanded text; like Prometheus, a failure at run time is the text "<error expanding template: ...>".
  [[nodiscard]] std::string expand(const TemplateData& data) const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Tree;
  std::string text_;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace rdmend::rules
