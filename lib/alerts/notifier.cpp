// SPDX-License-Identifier: Apache-2.0
#include "alerts/notifier.hpp"

#include <algorithm>

#include "alerts/lane.hpp"

namespace rdmend::alerts {
namespace {

bool same_destination(const config::Alertmanager& a, const config::Alertmanager& b) {
  const auto login = [](const config::Alertmanager& to) {
    return to.basic_auth ? to.basic_auth->username + '\n' + to.basic_auth->password : std::string();
  };
  return a.url == b.url && a.timeout == b.timeout && login(a) == login(b) && a.ca_file == b.ca_file && a.cert_file == b.cert_file &&
         a.key_file == b.key_file && a.insecure_skip_verify == b.insecure_skip_verify;
}

}  // namespace

struct Notifier::State {
  Reactor& reactor;
  Transport& transport;
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<const std::vector<Alert>> alerts = std::make_shared<const std::vector<Alert>>();

  std::shared_ptr<Lane> take_lane(const config::Alertmanager& to) {
    const auto kept = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane && same_destination(lane->destination(), to); });
    if (kept == lanes.end()) return std::make_shared<Lane>(reactor, transport, to);
    return std::exchange(*kept, nullptr);
  }
};

Notifier::Notifier(Reactor& reactor, Transport& transport, const config::Config& config)
    : state_(std::make_unique<State>(State{reactor, transport, {}})) {
  reconfigure(config);
}

Notifier::~Notifier() = default;

void Notifier::reconfigure(const config::Config& config) {
  const Envelope envelope{config.external_labels, config.external_url, config.notifications.resend};
  std::vector<std::shared_ptr<Lane>> lanes;
  for (const auto& to : config.alertmanagers) {
    lanes.push_back(state_->take_lane(to));
    lanes.back()->configure(envelope, config.notifications.queue);
  }
  state_->lanes = std::move(lanes);
  for (const auto& lane : state_->lanes) lane->offer(state_->alerts);
}

void Notifier::update(std::span<const Alert> alerts, Now) {
  state_->alerts = std::make_shared<const std::vector<Alert>>(alerts.begin(), alerts.end());
  for (const auto& lane : state_->lanes) lane->offer(state_->alerts);
}

std::vector<AlertmanagerStatus> Notifier::status() const {
  std::vector<AlertmanagerStatus> out;
  for (const auto& lane : state_->lanes) out.push_back(lane->status());
  return out;
}

}  // namespace rdmend::alerts
