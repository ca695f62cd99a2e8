// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.hpp"
#include "command.hpp"

namespace rdmend::ctl {

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const UniqueFd opened(path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (path != "-" && !opened) return errno_error(path, errno);
  const int fd = opened ? opened.get() : STDIN_FILENO;
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(path, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return Error{fmt::format("{}: larger than {} bytes", path, most), EFBIG};
  }
}

}  // namespace rdmend::ctl
