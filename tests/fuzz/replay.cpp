// SPDX-License-Identifier: Apache-2.0
// Feeds every file of the directories named to the target; a directory without a file is a fault, or the test could not fail.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/entry.hpp"

int main(int argc, char** argv) {
  std::size_t replayed = 0;
  for (int argument = 1; argument < argc; ++argument) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator{argv[argument]}) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const auto& path : files) {
      std::ifstream file{path, std::ios::binary};
      const std::string input{std::istreambuf_iterator<char>{file}, {}};
      std::printf("%s: %zu bytes\n", path.c_str(), input.size());
      std::fflush(stdout);  // the last line names the input that a crash is about
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      ++replayed;
    }
  }
  std::printf("%zu inputs\n", replayed);
  return replayed == 0 ? 1 : 0;
}
