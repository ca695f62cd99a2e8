// SPDX-License-Identifier: Apache-2.0
#include "sources/patience.hpp"

#include <algorithm>
#include <cerrno>

namespace rdmend::sources {

bool means_absent(int error) { return error == EINVAL || error == EOPNOTSUPP || error == ENODATA || error == ENOSYS; }

bool means_gone(int error) { return error == ENOENT || error == ENODEV || error == ESTALE; }

void Patience::answered() {
  ever_answered_ = true;
  failures_ = 0;
  again_ = {};
}

void Patience::failed(int error, Instant now) {
  if (means_gone(error)) return;
  ++failures_;
  if (!means_absent(error)) {
    if (failures_ >= kTries) again_ = now + kUnwell;
    return;
  }
  // A firmware that is being reset may deny what it has: what once answered is tried after a minute, then ever later.
  std::chrono::seconds wait = kAbsent;
  if (ever_answered_) wait = std::min<std::chrono::seconds>(wait, kUnwell * (1 << std::min(failures_ - 1, 6)));
  again_ = now + wait;
}

}  // namespace rdmend::sources
