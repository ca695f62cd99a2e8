// SPDX-License-Identifier: Apache-2.0
#include "remedies/refresh_neighbour.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace rdmend::remedies {
namespace {

using wire::HandNeighbour;
using Kind = wire::HandRequest::Kind;

constexpr milliseconds kNeighbourDeadline = seconds{10};

std::string neighbour_key(const PortNeighbour& neighbour) {
  return fmt::format("neighbour {} {}", neighbour.netdev, neighbour.entry.address);
}

std::string neighbour_name(const PortNeighbour& neighbour) {
  return fmt::format("{} on {}", neighbour.entry.address, neighbour.netdev);
}

std::string entry_text(const Neighbour& entry) {
  const auto state = neighbour_state_name(entry.state);
  return entry.link_address.empty() ? state : fmt::format("{} at {}", state, entry.link_address);
}

// nullopt for an address that is none.
std::optional<HandNeighbour> for_hand(const Neighbour& entry) {
  HandNeighbour out;
  out.interface_index = entry.interface_index;
  out.v6 = entry.address.find(':') != std::string::npos;
  if (inet_pton(out.v6 ? AF_INET6 : AF_INET, entry.address.c_str(), out.address.data()) != 1)
    return std::nullopt;
  return out;
}

bool set_by_hand(const Neighbour& entry) {
  return entry.state == static_cast<std::uint16_t>(NeighbourState::permanent);
}

class RefreshAction : public Action {
 public:
  RefreshAction(const Alert& alert, Environment& environment)
      : environment_(environment),
        observing_(environment.observing),
        device_(alert.labels.get("device")),
        port_(alert.labels.get("port")),
        netdev_(alert.labels.get("netdev")),
        address_(alert.labels.get("neighbour")) {}

  void check(std::function<void(std::string)> done) override {
    if (device_.empty() || port_.empty())
      return done(fmt::format("the alert has no label '{}', so there is no port whose neighbours are meant",
                              device_.empty() ? "device" : "port"));
    if (auto why = choose(); !why.empty()) return done(std::move(why));
    if (observing_) return done({});
    if (auto why = environment_.hand.unavailable(); !why.empty()) return done(std::move(why));
    ask(Kind::query_neighbours, chosen_,
        [this, done = std::move(done)](const Result<wire::HandReply>& reply) { done(objection(reply)); });
  }
  [[nodiscard]] std::vector<Target> targets() const override {
    std::vector<Target> out;
    for (const auto& one : chosen_)
      out.push_back({neighbour_key(one), "", neighbour_name(one),
                     fmt::format("have it resolved again, which is {} now", entry_text(one.entry))});
    return out;
  }
  void run(std::vector<Target> granted, std::function<void(std::vector<Report>)> done) override {
    std::erase_if(chosen_, [&](const PortNeighbour& one) {
      return std::none_of(granted.begin(), granted.end(), [&](const Target& t) { return t.key == neighbour_key(one); });
    });
    if (chosen_.empty()) return done({});
    ask(Kind::refresh_neighbours, chosen_,
        [this, done = std::move(done)](const Result<wire::HandReply>& reply) { done(reports(reply)); });
  }
  void verify(std::function<void(Report)> done) override {
    const auto now = environment_.neighbours.of(device_, port_);
    Report report{Verdict::succeeded, {}, {}, {}};
    for (const auto& one : begun_) {
      const auto at = std::find_if(now.begin(), now.end(), [&](const auto& n) { return neighbour_key(n) == neighbour_key(one); });
      if (at == now.end() || !neighbour_resolved(at->entry.state)) report.verdict = Verdict::ineffective;
      const auto text = at == now.end() ? "has no entry any more" : "is " + entry_text(at->entry);
      report.target += (report.target.empty() ? "" : ", ") + neighbour_name(one);
      report.reason += fmt::format("{}{} {}", report.reason.empty() ? "" : ", ", neighbour_name(one), text);
      report.figures[neighbour_name(one)] = at == now.end() ? "none" : entry_text(at->entry);
    }
    done(std::move(report));
  }
  void undo(std::function<void(Report)> done) override {
    done({Verdict::undone, address_, "what was resolved again is not undone", {}});
  }

 private:
  // The entry that the alert names, or else all of the port that queue pairs lead to and nobody answers for.
  std::string choose() {
    auto all = environment_.neighbours.of(device_, port_);
    std::erase_if(all, [&](const PortNeighbour& one) {
      if (!netdev_.empty() && one.netdev != netdev_) return true;
      if (!address_.empty()) return one.entry.address != address_;
      return one.qps == 0 || neighbour_resolved(one.entry.state);
    });
    if (all.empty() && address_.empty())
      return fmt::format("no neighbour of {}/{} that queue pairs lead to is unresolved", device_, port_);
    if (all.empty()) return fmt::format("{}/{} has no entry of {}", device_, port_, address_);
    if (std::all_of(all.begin(), all.end(), [](const auto& one) { return set_by_hand(one.entry); }))
      return fmt::format("{} was set by hand (permanent) and is not resolved", neighbour_name(all.front()));
    std::erase_if(all, [](const auto& one) { return set_by_hand(one.entry) || !for_hand(one.entry); });
    if (all.empty()) return fmt::format("{}/{} has no entry of an address that could be asked for", device_, port_);
    if (all.size() > wire::kHandMostNeighbours) all.resize(wire::kHandMostNeighbours);
    chosen_ = std::move(all);
    return {};
  }
  void ask(Kind kind, const std::vector<PortNeighbour>& about,
           std::function<void(const Result<wire::HandReply>&)> done) {
    wire::HandRequest request;
    request.kind = kind;
    for (const auto& one : about) request.neighbours.push_back(*for_hand(one.entry));
    environment_.hand.request(std::move(request), kNeighbourDeadline,
                              [alive = std::weak_ptr<bool>(alive_), done = std::move(done)](
                                  const Result<wire::HandReply>& reply) {
                                if (!alive.expired()) done(reply);
                              });
  }
  // Why nothing of it can be done, "" when something can.
  [[nodiscard]] std::string objection(const Result<wire::HandReply>& reply) const {
    if (!reply) return "the hand does not answer: " + reply.error().message;
    if (!reply->error.empty()) return reply->error;
    if (reply->neighbours.size() != chosen_.size()) return "the hand did not answer for each neighbour";
    for (const auto& one : reply->neighbours)
      if (one.error.empty()) return {};
    return fmt::format("{}: {}", neighbour_name(chosen_.front()), reply->neighbours.front().error);
  }
  std::vector<Report> reports(const Result<wire::HandReply>& reply) {
    std::vector<Report> out;
    const bool whole = reply && reply->error.empty() && reply->neighbours.size() == chosen_.size();
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const auto& one = chosen_[i];
      const auto error = whole    ? reply->neighbours[i].error
                         : !reply ? "the hand does not answer: " + reply.error().message
                         : reply->error.empty() ? std::string("the hand did not answer for each neighbour")
                                                : reply->error;
      const auto was = whole ? neighbour_state_name(reply->neighbours[i].state) : std::string();
      if (!error.empty()) {
        out.push_back({Verdict::failed, neighbour_name(one), error, {}});
        continue;
      }
      begun_.push_back(one);
      out.push_back({Verdict::started, neighbour_name(one), fmt::format("was {}: the kernel resolves it again", was), {{"was", was}}});
    }
    return out;
  }

  Environment& environment_;
  bool observing_;
  std::string device_, port_, netdev_, address_;
  std::vector<PortNeighbour> chosen_, begun_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class RefreshNeighbour : public Remedy {
 public:
  [[nodiscard]] std::string_view kind() const override { return "refresh_neighbour"; }
  [[nodiscard]] std::string describe() const override { return "refresh_neighbour"; }
  [[nodiscard]] std::unique_ptr<Action> begin(const Alert& alert, Environment& environment) const override {
    return std::make_unique<RefreshAction>(alert, environment);
  }
  [[nodiscard]] std::unique_ptr<Action> resume(const std::string&, Environment&) const override {
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<Remedy> compile_refresh_neighbour(const RemedySpec&, Diagnostics&) {
  return std::make_unique<RefreshNeighbour>();
}

}  // namespace rdmend::remedies
