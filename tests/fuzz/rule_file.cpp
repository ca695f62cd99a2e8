// SPDX-License-Identifier: Apache-2.0
// A rule file: what is accepted can be exported to Prometheus, and what was exported is accepted.
#include "rules/rule_file.hpp"

#include "fuzz/entry.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{fuzz::text_of(data, size)};
  Diagnostics diagnostics;
  const auto groups = rules::parse_rule_file("rules.yaml", text, diagnostics);
  for (const Diagnostic& one : diagnostics.all()) fuzz::demand(!one.what.empty() && one.file == "rules.yaml", "a fault has a file and words");
  const auto exported = rules::export_rule_file("rules.yaml", text);
  if (diagnostics.failed()) return 0;
  fuzz::demand(static_cast<bool>(exported), "an accepted file can be exported");
  Diagnostics again;
  const auto same = rules::parse_rule_file("exported.yaml", *exported, again);
  fuzz::demand(!again.failed(), "an exported file is accepted:\n" + again.text() + *exported);
  fuzz::demand(same.size() == groups.size(), "an exported file has the same groups");
  return 0;
}
