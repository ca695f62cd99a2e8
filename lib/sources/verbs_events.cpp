// SPDX-License-Identifier: Apache-2.0
#include "sources/verbs_events.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

namespace rdmend::sources {

VerbsEvents::VerbsEvents(Reactor& reactor, std::string device, std::optional<std::uint32_t> index, std::vector<std::string> ports, Hear hear)
    : reactor_(reactor), device_(std::move(device)), index_(index), ports_(std::move(ports)), hear_(std::move(hear)) {}

VerbsEvents::~VerbsEvents() {
  events_.reset();
  if (!context_) return;
  // Closing may wait for firmware, and a worker drops what waits when it ends: this last one goes by itself.
  try {
    std::thread([context = std::move(context_)]() mutable { context.reset(); }).detach();
  } catch (const std::system_error&) {
    return;  // no thread to be had: closed here
  }
}

void VerbsEvents::start() {
  worker_ = std::make_unique<Worker>(reactor_, "verbs " + device_);
  wanted_ = true;
  try_open();
}

void VerbsEvents::try_open() {
  retry_.reset();
  if (!wanted_ || opening_ || context_) return;
  opening_ = worker_->submit([this, device = device_, index = index_]() -> std::function<void()> {
    auto opened = verbs::Context::open(device, index);
    Result<std::shared_ptr<verbs::Context>> result =
        opened ? Result<std::shared_ptr<verbs::Context>>(std::make_shared<verbs::Context>(std::move(*opened))) : opened.error();
    return [this, result = std::move(result)]() mutable { on_opened(std::move(result)); };
  });
}

void VerbsEvents::on_opened(Result<std::shared_ptr<verbs::Context>> opened) {
  opening_ = false;
  const auto removed = std::exchange(removed_, {});
  if (!opened) {
    if (delay_ >= kWorthSaying && !std::exchange(said_closed_, true))
      log::warning("events", "device cannot be opened: its async events are not heard", {{"device", device_}, {"error", opened.error().message}});
    retry_later();
    return;
  }
  context_ = std::move(*opened);
  if (!wanted_ || removed.contains(context_->uverbs())) {
    close();
    return;
  }
  delay_ = kFirstRetry;
  if (std::exchange(said_closed_, false)) log::info("events", "device is open: its async events are heard", {{"device", device_}});
  if (!counts_) counts_.emplace(device_, ports_);
  const auto hear = [this](const std::vector<verbs::AsyncEvent>& events) {
    for (const auto& event : events) counts_->count(event);
    hear_(events);
  };
  const auto ended = [this](bool fatal) {
    if (complaints_.admit(fatal ? "fatal" : "ended", reactor_.now().mono) >= 0)
      log::warning("events", fatal ? "device reported a fatal error" : "device's events can no longer be read", {{"device", device_}});
    close();
    delay_ = kAfterFatal;
    retry_later();
  };
  events_ = std::make_unique<AsyncEvents>(reactor_, context_, AsyncEvents::Heard{hear, ended});
}

void VerbsEvents::retry_later() {
  if (!wanted_) return;
  retry_ = reactor_.after(delay_, [this] { try_open(); });
  delay_ = std::min(delay_ * 2, kLastRetry);
}

void VerbsEvents::uverbs_removed(const std::string& name) {
  if (opening_) removed_.insert(name);
  if (context_ && context_->uverbs() == name) {
    wanted_ = false;
    close();
  }
}

void VerbsEvents::uverbs_added() {
  if (!worker_) return;
  wanted_ = true;
  delay_ = kFirstRetry;
  try_open();
}

void VerbsEvents::close(std::function<void()> closed) {
  events_.reset();
  if (!context_) {
    if (closed) closed();
    return;
  }
  // Closing may wait for firmware: never on the loop.
  worker_->submit([context = std::move(context_), closed = std::move(closed)]() mutable -> std::function<void()> {
    context.reset();
    return closed;
  });
  context_ = nullptr;
}

void VerbsEvents::end(std::function<void()> closed) {
  wanted_ = false;
  retry_.reset();
  close(std::move(closed));
}

}  // namespace rdmend::sources
