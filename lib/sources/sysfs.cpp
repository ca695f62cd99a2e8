// SPDX-License-Identifier: Apache-2.0
#include "sources/sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/c_handle.hpp"
#include "base/text.hpp"

namespace rdmend::sources {

Result<UniqueFd> open_dir(int at, const std::string& path) {
  UniqueFd fd(openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(path, errno);
  return fd;
}

Result<std::string> read_file(int at, const std::string& path) { return KeptFile(path).read(at); }

Result<std::vector<std::string>> list_dir(int at, const std::string& path) {
  auto fd = open_dir(at, path);
  if (!fd) return fd.error();
  const CHandle<DIR, closedir> dir(fdopendir(fd->get()));
  if (!dir) return errno_error(path, errno);
  fd->release();  // closedir closes it
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): one stream, one thread
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    if (names.size() >= kMostDirEntries) break;
    errno = 0;
  }
  if (errno != 0) return errno_error(path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> link_target(int at, const std::string& path) {
  std::array<char, 4096> target{};
  const auto length = readlinkat(at, path.c_str(), target.data(), target.size());
  if (length < 0) return errno_error(path, errno);
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<std::string> link_name(int at, const std::string& path) {
  auto target = link_target(at, path);
  if (!target) return target.error();
  return target->substr(target->rfind('/') + 1);
}

Result<std::string> KeptFile::read_open() const {
  std::array<char, kMostFileBytes> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): the kernel fills it, some thousand times a second
  ssize_t length = 0;
  do length = pread(fd_.get(), bytes.data(), bytes.size(), 0);
  while (length < 0 && errno == EINTR);
  if (length < 0) return errno_error(path_, errno);
  return std::string(trim({bytes.data(), static_cast<std::size_t>(length)}));
}

Result<std::string> KeptFile::read(int at) {
  if (fd_) {
    auto text = read_open();
    if (text || (text.error().code != ENODEV && text.error().code != ESTALE)) return text;
    fd_.reset();  // the attribute was taken away and may be back under its name
  }
  fd_.reset(openat(at, path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd_) return errno_error(path_, errno);
  return read_open();
}

void KeptFile::let_go_if_deleted() {
  struct stat info {};
  if (fd_ && fstat(fd_.get(), &info) == 0 && info.st_nlink == 0) fd_.reset();
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rdmend::sources
