// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostic.hpp"

#include <fmt/format.h>

namespace rdmend {

std::string Diagnostic::text() const {
  std::string where = file.empty() ? "-" : file;
  if (at.line > 0) where += fmt::format(":{}:{}", at.line, at.column);
  const char* kind = severity == Severity::error ? "error" : "warning";
  return hint.empty() ? fmt::format("{}: {}: {}", where, kind, what) : fmt::format("{}: {}: {}; {}", where, kind, what, hint);
}

void Diagnostics::error(std::string file, Position at, std::string what, std::string hint) {
  all_.push_back({Diagnostic::Severity::error, std::move(file), at, std::move(what), std::move(hint)});
  ++errors_;
}

void Diagnostics::warning(std::string file, Position at, std::string what, std::string hint) {
  all_.push_back({Diagnostic::Severity::warning, std::move(file), at, std::move(what), std::move(hint)});
}

std::string Diagnostics::text() const {
  std::string out;
  for (const auto& diagnostic : all_) out += diagnostic.text() + "\n";
  return out;
}

}  // namespace rdmend
