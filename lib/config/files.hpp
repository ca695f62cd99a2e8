// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"

namespace rdmend::config {

// The whole of a regular file of at most `most` bytes; an error begins with the path.
Result<std::string> read_small_file(const std::string& path, std::size_t most);
// A password of at most 4 KiB, without the newline that editors add.
Result<std::string> read_password(const std::string& path);

}  // namespace rdmend::config
