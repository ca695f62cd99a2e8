// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "config/config.hpp"

using namespace rdmend;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("config/reference/config.md is what the table says; RDMEND_UPDATE_REFERENCE=1 writes it") {
  const std::string path = std::string(RDMEND_SOURCE_DIR) + "/config/reference/config.md";
  if (std::getenv("RDMEND_UPDATE_REFERENCE") != nullptr) std::ofstream(path) << config::reference_page();
  CHECK(slurp(path) == config::reference_page());
}

TEST_CASE("config/rdmend.yaml shows every key at its default") {
  const std::string text = slurp(std::string(RDMEND_SOURCE_DIR) + "/config/rdmend.yaml");
  Diagnostics diagnostics;
  const auto shipped = config::parse("rdmend.yaml", text, "<hostname>", diagnostics);
  CHECK(diagnostics.text().empty());
  REQUIRE(config::keys().size() > 40);
  for (const auto& row : config::keys()) {
    INFO(row.path);
    if (row.path.find("[]") == std::string_view::npos) CHECK(config::show(shipped, row.path) == row.default_value);
    const auto word = row.path.substr(row.path.find_last_of(".") + 1);  // npos + 1 is the whole
    CHECK(text.find(std::string(word) + ":") != std::string::npos);
  }
}
