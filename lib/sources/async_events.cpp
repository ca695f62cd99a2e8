// SPDX-License-Identifier: Apache-2.0
#include "sources/async_events.hpp"

#include "verbs/event_names.hpp"

namespace rdmend::sources {

EventCounts::EventCounts(std::string device, const std::vector<std::string>& ports) : device_(std::move(device)) {
  for (const auto name : verbs::events_of(verbs::EventScope::device)) counts_[{"", std::string(name), ""}] = 0;
  for (const auto& port : ports)
    for (const auto name : verbs::events_of(verbs::EventScope::port)) counts_[{port, std::string(name), ""}] = 0;
}

void EventCounts::count(const verbs::AsyncEvent& event) {
  Key key{.port = event.port != 0 ? std::to_string(event.port) : "", .event = std::string(verbs::event_name(event.type)), .code = ""};
  if (verbs::event_scope(event.type) == verbs::EventScope::unknown) key.code = std::to_string(event.type);
  const auto known = counts_.find(key);
  if (known != counts_.end())
    ++known->second;
  else if (++unknown_ <= kMostUnknown)
    counts_[key] = 1;
}

std::vector<Sample> EventCounts::samples() const {
  std::vector<Sample> samples;
  samples.reserve(counts_.size());
  for (const auto& [key, count] : counts_)
    samples.push_back({Labels{{"__name__", "rdma_async_events_total"}, {"device", device_}, {"port", key.port}, {"event", key.event}, {"code", key.code}},
                       static_cast<double>(count)});
  return samples;
}

AsyncEvents::AsyncEvents(Reactor& reactor, std::shared_ptr<verbs::Context> context, Heard heard)
    : context_(std::move(context)), heard_(std::move(heard)) {
  watch_ = reactor.watch(context_->event_fd(), {.readable = true}, [this](Reactor::Ready) { read(); });
}

void AsyncEvents::read() {
  std::vector<verbs::AsyncEvent> events;
  bool fatal = false, ended = false;
  while (!ended && events.size() < kMostAtOnce) {
    const auto next = context_->next_event();
    if (next && !*next) break;
    if (!next) {
      ended = true;
      break;
    }
    events.push_back(**next);
    // The last event of its descriptor: whoever reads on waits for ever.
    if (verbs::event_name((*next)->type) == "DEVICE_FATAL") fatal = ended = true;
  }
  if (ended) watch_.reset();
  const auto heard = heard_;  // what it calls may end us
  if (!events.empty()) heard.events(events);
  if (ended) heard.ended(fatal);
}

}  // namespace rdmend::sources
