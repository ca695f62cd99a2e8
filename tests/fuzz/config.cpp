// SPDX-License-Identifier: Apache-2.0
// The daemon's configuration.
#include "config/config.hpp"

#include "fuzz/entry.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Diagnostics diagnostics;
  const auto config = config::parse("rdmend.yaml", std::string{fuzz::text_of(data, size)}, "host-17", diagnostics);
  for (const Diagnostic& one : diagnostics.all()) fuzz::demand(!one.what.empty() && one.file == "rdmend.yaml", "a fault has a file and words");
  if (diagnostics.failed()) return 0;
  fuzz::demand(config.query.max_samples > 0 && config.sampling.interval.count() > 0, "what is accepted can run");
  return 0;
}
