// SPDX-License-Identifier: Apache-2.0
#include "config/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.hpp"

namespace rdmend::config {

Result<std::string> read_small_file(const std::string& path, std::size_t most) {
  // Not blocking: it may be a FIFO that nobody writes to.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return errno_error(path, errno);
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && !S_ISREG(info.st_mode)) return Error{path + ": is not a file", EINVAL};
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const auto got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return errno_error(path, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return Error{path + ": longer than " + std::to_string(most) + " bytes", EFBIG};
  }
}

Result<std::string> read_password(const std::string& path) {
  auto text = read_small_file(path, 4096);
  if (text)
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return text;
}

}  // namespace rdmend::config
