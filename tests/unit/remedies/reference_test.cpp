// SPDX-License-Identifier: Apache-2.0
#include "remedies/reference.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace rdmend::remedies;

TEST_CASE("every kind has a page whose head is the table's; RDMEND_UPDATE_REFERENCE=1 writes it") {
  const std::string folder = RDMEND_SOURCE_DIR "/config/reference/remedies";
  for (const auto& row : kinds()) {
    const auto path = folder + "/" + std::string(row.kind) + ".md";
    INFO(path);
    std::ifstream file(path);
    std::string page{std::istreambuf_iterator<char>(file), {}};
    const auto marker = page.find(kPageMarker);
    if (std::getenv("RDMEND_UPDATE_REFERENCE") != nullptr) {
      page = reference_head(row) + (marker == std::string::npos ? page : page.substr(marker + kPageMarker.size()));
      std::ofstream(path) << page;
    }
    CHECK(page.rfind(reference_head(row), 0) == 0);
    CHECK(page.size() > reference_head(row).size() + 500);  // and somebody wrote the rest
    CHECK(page.find("- " + std::string(row.kind) + ": {") != std::string::npos);
  }
  std::size_t pages = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder)) ++pages;
  CHECK(pages == kinds().size());
}
