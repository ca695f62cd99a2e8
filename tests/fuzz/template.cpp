// SPDX-License-Identifier: Apache-2.0
// A template: expanded over some labels, in bounded time and memory.
#include "rules/template.hpp"

#include "fuzz/entry.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Labels kLabels{{"device", "rxe1"}, {"port", "1"}, {"instance", "host-17:9879"}};
  static const Labels kExternal{{"instance", "host-17"}};
  const auto parsed = rules::Template::parse(fuzz::text_of(data, size));
  if (const auto* errors = std::get_if<std::vector<promql::ParseError>>(&parsed)) {
    fuzz::demand(!errors->empty(), "what does not parse has a fault");
    return 0;
  }
  for (const double value : {0.0, -1234.5678, 1e300}) {
    const std::string text = std::get<rules::Template>(parsed).expand({kLabels, kExternal, "http://host-17:9879", value});
    fuzz::demand(text.size() < (8U << 20U), "an expansion is bounded");
  }
  return 0;
}
