// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

// Reading a tree of small files under a directory descriptor. Nothing here throws; every length and list is capped.
namespace rdmend::sources {

inline constexpr std::size_t kMostFileBytes = 4096;    // a sysfs attribute is at most a page
inline constexpr std::size_t kMostDirEntries = 4096;

Result<UniqueFd> open_dir(int at, const std::string& path);
// The whole file, at most kMostFileBytes, without blanks at its ends.
Result<std::string> read_file(int at, const std::string& path);
// Names in the directory, sorted, without those that begin with a dot.
Result<std::vector<std::string>> list_dir(int at, const std::string& path);
// A symbolic link's target as it stands.
Result<std::string> link_target(int at, const std::string& path);
// The last component of a symbolic link's target.
Result<std::string> link_name(int at, const std::string& path);

// A file that is read again and again: one descriptor, pread from 0; opened anew when what it stood for was replaced.
class KeptFile {
 public:
  explicit KeptFile(std::string path) : path_(std::move(path)) {}
  Result<std::string> read(int at);
  // A file of a copied tree that was replaced goes on answering through the old descriptor, for ever the same.
  void let_go_if_deleted();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Result<std::string> read_open() const;
  std::string path_;
  UniqueFd fd_;
};

// A decimal or 0x-hexadecimal number that fills the text and fits; nullopt otherwise.
std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace rdmend::sources
