// SPDX-License-Identifier: Apache-2.0
#include "alerts/lane.hpp"

#include <algorithm>

namespace rdmend::alerts {
namespace {

std::string key_of(const Alert& alert) { return alert.file + '\x1f' + alert.group + '\x1f' + alert.labels.text(); }

// Pending alerts are never sent; one that resolved before it fired was never told, so its end is not told either.
bool to_be_told(const Alert& alert, Timestamp now) {
  if (alert.state == AlertState::firing) return true;
  return alert.state == AlertState::inactive && alert.fired_at != Timestamp{} && alert.resolved_at != Timestamp{} &&
         now - alert.resolved_at < kResolvedRetention;
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Lane::Lane(Reactor& reactor, Transport& transport, config::Alertmanager to)
    : reactor_(reactor), transport_(transport), to_(std::move(to)), url_(without_slash(to_.url) + "/api/v2/alerts") {
  status_.url = to_.url;
}

void Lane::configure(Envelope envelope, std::size_t queue_limit) {
  // Other external labels make other alerts of them all: everything is told anew.
  if (envelope.external_labels != envelope_.external_labels) {
    tracks_.clear();
    queue_.clear();
  }
  envelope_ = std::move(envelope);
  queue_limit_ = std::max<std::size_t>(queue_limit, 1);
}

void Lane::offer(const std::shared_ptr<const std::vector<Alert>>& alerts) {
  alerts_ = alerts;
  ++generation_;
  const auto now = reactor_.now();
  for (const auto& alert : *alerts) {
    if (!to_be_told(alert, now.wall)) continue;
    const auto key = key_of(alert);
    auto& track = tracks_[key];
    track.latest = std::shared_ptr<const Alert>(alerts, &alert);
    track.seen = generation_;
    if (track.queued || track.flying) continue;
    const bool changed = Mark{alert.state, alert.fired_at} != track.offered;
    if (changed || now.mono >= track.due) enqueue(key, track);
  }
  forget_unseen();
  pump();
  arm();
}

void Lane::enqueue(const std::string& key, Track& track) {
  queue_.push_back(key);
  track.queued = true;
  while (queue_.size() > queue_limit_) drop_oldest();
}

void Lane::drop_oldest() {
  const auto track = tracks_.find(queue_.front());
  queue_.pop_front();
  ++status_.dropped;
  if (track == tracks_.end()) return;
  track->second.queued = false;
  track->second.offered = {track->second.latest->state, track->second.latest->fired_at};
  track->second.due = reactor_.now().mono + envelope_.resend;
}

void Lane::forget_unseen() {
  const auto gone = [&](const auto& entry) { return entry.second.seen != generation_ && !entry.second.flying; };
  std::erase_if(queue_, [&](const std::string& key) { return tracks_.contains(key) && tracks_[key].seen != generation_; });
  std::erase_if(tracks_, gone);
}

Lane::Keys Lane::take_batch(std::string& body) {
  Keys keys;
  const auto now = reactor_.now().wall;
  while (!queue_.empty() && keys.size() < kMostInBatch && body.size() < kMostBytesInBatch) {
    auto& track = tracks_.at(queue_.front());
    if (track.alone && !keys.empty()) break;
    body += (keys.empty() ? "[" : ",") + payload(*track.latest, envelope_, now);
    track.queued = false;
    track.flying = true;
    track.offered = {track.latest->state, track.latest->fired_at};
    keys.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (track.alone) break;
  }
  if (!keys.empty()) body += "]";
  return keys;
}

void Lane::pump() {
  if (busy_ || queue_.empty() || reactor_.now().mono < rest_until_) return;
  std::string body;
  auto keys = take_batch(body);
  busy_ = true;
  transport_.post(to_, url_, std::move(body), [self = weak_from_this(), keys = std::move(keys)](long status, const std::string& error) {
    if (const auto lane = self.lock()) lane->finish(keys, status, error);
  });
}

void Lane::finish(const Keys& keys, long status, const std::string& error) {
  busy_ = false;
  const bool accepted = status >= 200 && status < 300;
  // 408 and 429 are about the moment, not about what was sent.
  const bool refused = status >= 400 && status < 500 && status != 408 && status != 429;
  for (const auto& key : keys)
    if (const auto track = tracks_.find(key); track != tracks_.end()) settle(track->second, accepted, refused, keys.size() > 1);
  const auto now = reactor_.now();
  if (accepted) {
    status_.sent += keys.size();
    status_.last_success = now.wall;
    status_.last_error.clear();
  } else {
    status_.failed += keys.size();
    status_.last_error = error.empty() ? "HTTP status " + std::to_string(status) : error;
    if (!refused) rest_until_ = now.mono + kRetry;
  }
  // What changed while the request was under way is found, and sent, by looking at all alerts again.
  if (alerts_) offer(alerts_);
}

void Lane::settle(Track& track, bool accepted, bool refused, bool crowd) {
  const auto now = reactor_.now().mono;
  track.flying = false;
  track.due = now + envelope_.resend;
  if (accepted) {
    track.accepted = track.offered;
    track.alone = false;
  } else if (refused) {
    track.alone = track.alone || crowd;
  } else if (track.accepted != track.offered) {
    track.due = now + kRetry;
  }
}

void Lane::arm() {
  auto next = Instant::max();
  for (const auto& [key, track] : tracks_)
    if (!track.queued && !track.flying) next = std::min(next, track.due);
  if (!busy_ && !queue_.empty()) next = std::min(next, rest_until_);
  timer_.reset();
  if (next == Instant::max()) return;
  const auto delay = std::chrono::ceil<milliseconds>(next - reactor_.now().mono);
  timer_ = reactor_.after(std::max(delay, milliseconds{1}), [this] { offer(alerts_); });
}

AlertmanagerStatus Lane::status() const {
  auto out = status_;
  out.queued = queue_.size();
  return out;
}

}  // namespace rdmend::alerts
