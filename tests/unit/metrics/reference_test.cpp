// SPDX-License-Identifier: Apache-2.0
#include "metrics/reference.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

TEST_CASE("the page of metric families is the table's") {
  const std::string path = RDMEND_SOURCE_DIR "/config/reference/metrics.md";
  if (std::getenv("RDMEND_UPDATE_REFERENCE") != nullptr) std::ofstream{path} << rdmend::metrics::reference_page();
  std::ifstream file{path};
  const std::string page{std::istreambuf_iterator<char>{file}, {}};
  INFO("run it with RDMEND_UPDATE_REFERENCE=1 to rewrite " << path);
  CHECK(page == rdmend::metrics::reference_page());
}
