// SPDX-License-Identifier: Apache-2.0
#include "verbs/context.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <utility>

#include "verbs/event_names.hpp"

namespace rdmend::verbs {
namespace {

using DeviceList = CHandle<ibv_device*, ibv_free_device_list>;

Result<std::pair<DeviceList, int>> list_devices() {
  int count = 0;
  DeviceList list(ibv_get_device_list(&count));
  if (!list) return errno_error("listing the verbs devices", errno);
  return std::pair(std::move(list), count);
}

}  // namespace

Context::Context(ibv_context* context, std::string uverbs) : context_(context), uverbs_(std::move(uverbs)) {}

Result<Context> Context::open(const std::string& device, std::optional<std::uint32_t> index) {
  auto list = list_devices();
  if (!list) return list.error();
  const auto& [devices, count] = *list;
  for (int i = 0; i < count; ++i) {
    ibv_device* const found = devices.get()[i];
    if (index ? ibv_get_device_index(found) != static_cast<int>(*index) : device != ibv_get_device_name(found)) continue;
    errno = 0;
    ibv_context* const opened = ibv_open_device(found);
    if (opened == nullptr) return errno_error("opening " + device, errno != 0 ? errno : EIO);
    Context context(opened, found->dev_name);
    const int flags = fcntl(opened->async_fd, F_GETFL);
    if (flags < 0 || fcntl(opened->async_fd, F_SETFL, flags | O_NONBLOCK) < 0)
      return errno_error("making the events of " + device + " non-blocking", errno);
    return context;
  }
  return errno_error("opening " + device, ENODEV);
}

int Context::event_fd() const { return context_->async_fd; }

Result<std::optional<AsyncEvent>> Context::next_event() {
  ibv_async_event event{};
  errno = 0;  // a short read (end of file after the device has gone) sets none
  if (ibv_get_async_event(context_.get(), &event) != 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<AsyncEvent>{};
    return errno_error("reading async events", errno != 0 ? errno : ENODEV);
  }
  // The union's port_num is valid for port events alone: it is read only once the type says so.
  AsyncEvent copied{.type = event.event_type, .port = 0};
  if (event_scope(copied.type) == EventScope::port) copied.port = static_cast<std::uint32_t>(event.element.port_num);
  ibv_ack_async_event(&event);
  return std::optional(copied);
}

Result<std::vector<std::string>> device_names() {
  auto list = list_devices();
  if (!list) return list.error();
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(list->second));
  for (int i = 0; i < list->second; ++i) names.emplace_back(ibv_get_device_name(list->first.get()[i]));
  return names;
}

}  // namespace rdmend::verbs
