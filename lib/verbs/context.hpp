// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/c_handle.hpp"
#include "base/result.hpp"

struct ibv_context;
extern "C" int ibv_close_device(ibv_context* context);

namespace rdmend::verbs {

// An async event, copied and acknowledged. Our own context makes no objects, so only device and port events reach it.
struct AsyncEvent {
  int type = 0;            // enum ibv_event_type
  std::uint32_t port = 0;  // of a port event, else 0
};

// An open device, held for its async events alone. Opening and closing may block (firmware commands): not on the loop.
// Reading never blocks.
class Context {
 public:
  // By rdma netlink's index where it is known: libibverbs goes on to call a renamed device by its old name.
  static Result<Context> open(const std::string& device, std::optional<std::uint32_t> index);

  [[nodiscard]] int event_fd() const;
  // The next event; nullopt when none waits. An error ends the context's usefulness (the device has gone).
  Result<std::optional<AsyncEvent>> next_event();
  // "uverbs0": the character device that is held open.
  [[nodiscard]] const std::string& uverbs() const { return uverbs_; }

 private:
  Context(ibv_context* context, std::string uverbs);
  CHandle<ibv_context, ibv_close_device> context_;
  std::string uverbs_;
};

// The names of the devices that verbs can open now.
Result<std::vector<std::string>> device_names();

}  // namespace rdmend::verbs
