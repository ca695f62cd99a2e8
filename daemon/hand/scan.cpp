// SPDX-License-Identifier: Apache-2.0
#include "scan.hpp"

#include <cerrno>

#include "verbs/uverbs_ioctl.hpp"

namespace rdmend::hand {

Result<std::vector<Answer>> scan(Hold& hold, std::uint32_t driver_id, std::size_t wanted) {
  std::vector<Answer> answers;
  for (std::uint32_t handle = 0; handle < kMostHandles && answers.size() < wanted; ++handle) {
    if (auto taken = hold.refresh(); !taken) return taken.error();
    for (const auto& held : hold.fds()) {
      const auto seen = verbs::query_qp({held.fd.get(), driver_id}, handle);
      if (seen) answers.push_back({held.number, handle, *seen});
      else if (seen.error().code == EIO) return Error{"the device has gone", EIO};
      // EINVAL: another object. ENOENT: none. EBUSY: its owner is destroying it, so it is nothing to us.
    }
  }
  return answers;
}

}  // namespace rdmend::hand
