// SPDX-License-Identifier: Apache-2.0
#include "unit/sources/mock_verbs.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <mutex>

namespace rdmend::test {

struct MockVerbs::State {
  struct Context {
    ibv_context verbs{};
    std::deque<ibv_async_event> waiting;
    int pipe[2] = {-1, -1};
    bool fatal = false;
  };
  struct Device {
    ibv_device verbs{};
    int opened = 0;
    std::list<Context> contexts;
  };
  std::mutex mutex;
  std::condition_variable closed;
  std::map<std::string, Device> devices;
  int reads_after_fatal = 0, unacknowledged = 0;

  Context& of(ibv_context* context) {
    for (auto& [name, device] : devices)
      for (auto& one : device.contexts)
        if (&one.verbs == context) return one;
    std::abort();  // a context that is not open any more
  }
};

namespace {

MockVerbs::State* now = nullptr;

}  // namespace

MockVerbs::MockVerbs() : state_(std::make_unique<State>()) { now = state_.get(); }
// Who ends closes its contexts by the way, in a thread of its own.
MockVerbs::~MockVerbs() {
  std::unique_lock lock(state_->mutex);
  const auto all_closed = [this] { return std::all_of(state_->devices.begin(), state_->devices.end(), [](const auto& device) { return device.second.contexts.empty(); }); };
  if (!state_->closed.wait_for(lock, std::chrono::seconds{10}, all_closed)) std::abort();
  now = nullptr;
}

void MockVerbs::add(const std::string& device) {
  const std::scoped_lock lock(state_->mutex);
  auto& made = state_->devices[device].verbs;
  device.copy(made.name, sizeof made.name - 1);
  ("uverbs_" + device).copy(made.dev_name, sizeof made.dev_name - 1);
}

void MockVerbs::raise(const std::string& device, int type, int port) {
  const std::scoped_lock lock(state_->mutex);
  for (auto& context : state_->devices.at(device).contexts) {
    ibv_async_event event{};
    event.event_type = static_cast<ibv_event_type>(type);
    event.element.port_num = port;
    context.waiting.push_back(event);
    if (write(context.pipe[1], "e", 1) != 1) std::abort();
  }
}

int MockVerbs::reads_after_fatal() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->reads_after_fatal;
}
int MockVerbs::open(const std::string& device) const {
  const std::scoped_lock lock(state_->mutex);
  return static_cast<int>(state_->devices.at(device).contexts.size());
}
int MockVerbs::opened(const std::string& device) const {
  const std::scoped_lock lock(state_->mutex);
  return state_->devices.at(device).opened;
}
int MockVerbs::unacknowledged() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->unacknowledged;
}

}  // namespace rdmend::test

using rdmend::test::now;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  if (now == nullptr) {
    errno = ENOSYS;
    return nullptr;
  }
  const std::scoped_lock lock(now->mutex);
  auto** const list = new ibv_device*[now->devices.size() + 1];
  int n = 0;
  for (auto& [name, device] : now->devices) list[n++] = &device.verbs;
  list[n] = nullptr;
  *count = n;
  return list;
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  const std::scoped_lock lock(now->mutex);
  auto& known = now->devices.at(device->name);
  auto& context = known.contexts.emplace_back();
  if (pipe2(context.pipe, O_CLOEXEC) != 0) return nullptr;
  context.verbs.device = device;
  context.verbs.async_fd = context.pipe[0];
  ++known.opened;
  return &context.verbs;
}

int ibv_close_device(ibv_context* context) {
  const std::scoped_lock lock(now->mutex);
  auto& gone = now->of(context);
  close(gone.pipe[0]);
  close(gone.pipe[1]);
  now->devices.at(context->device->name).contexts.remove_if([&](const auto& one) { return &one == &gone; });
  now->closed.notify_all();
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const std::scoped_lock lock(now->mutex);
  auto& from = now->of(context);
  if (from.fatal) ++now->reads_after_fatal;  // on real hardware this waits for ever
  char byte = 0;
  if (read(from.pipe[0], &byte, 1) != 1) return -1;
  *event = from.waiting.front();
  from.waiting.pop_front();
  from.fatal = from.fatal || event->event_type == IBV_EVENT_DEVICE_FATAL;
  ++now->unacknowledged;
  return 0;
}
void ibv_ack_async_event(ibv_async_event*) {
  const std::scoped_lock lock(now->mutex);
  --now->unacknowledged;
}

}  // extern "C"
