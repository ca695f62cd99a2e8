// SPDX-License-Identifier: Apache-2.0
// A file of rule tests, and the notation of series and values in it. Not run: that would read the rule files it names.
#include "rdmendctl/test_file.hpp"

#include "fuzz/entry.hpp"
#include "rdmendctl/series_notation.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  Diagnostics diagnostics;
  const auto parsed = ctl::parse_test_file("tests.yaml", std::string{text}, diagnostics);
  for (const Diagnostic& one : diagnostics.all()) fuzz::demand(!one.what.empty() && one.file == "tests.yaml", "a fault has a file and words");
  constexpr std::size_t kMost = 10'000;
  if (const auto values = ctl::parse_values(text, kMost)) fuzz::demand(values->size() <= kMost, "the values are capped");
  if (const auto labels = ctl::parse_series(text)) {
    const auto again = ctl::parse_series(labels->text());
    fuzz::demand(again && *again == *labels, "a series' text is read back: " + labels->text());
  }
  return 0;
}
