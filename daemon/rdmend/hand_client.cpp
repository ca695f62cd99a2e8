// SPDX-License-Identifier: Apache-2.0
#include "rdmend/hand_client.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/log.hpp"
#include "base/text.hpp"
#include "rdmend/hand_process.hpp"

namespace rdmend::daemon {
namespace {

using Done = std::function<void(Result<wire::HandReply>)>;
constexpr milliseconds kLongestBackOff{60'000};

// A request, in parts that fit a packet, and what has been answered so far.
struct Call {
  std::vector<wire::HandRequest> parts;
  std::size_t next = 0;
  wire::HandReply reply;
  Done done;
  Reactor::Handle deadline;
};

// QPs of one process stay together as far as they can: which handle is which is told by looking at all of them.
std::vector<wire::HandRequest> split(wire::HandRequest whole) {
  if (whole.qps.size() <= wire::kHandMostQps) return {std::move(whole)};
  std::stable_sort(whole.qps.begin(), whole.qps.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  std::vector<wire::HandRequest> parts;
  for (std::size_t at = 0; at < whole.qps.size(); at += wire::kHandMostQps) {
    const auto begin = whole.qps.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = whole.qps.begin() + static_cast<std::ptrdiff_t>(std::min(at + wire::kHandMostQps, whole.qps.size()));
    parts.push_back({whole.kind, 0, whole.device_index, whole.device, {begin, end}, {}});
  }
  return parts;
}

}  // namespace

struct HandClient::State {
  State(Reactor& r, std::string p, milliseconds b) : reactor(r), path(std::move(p)), first_back_off(b) {}

  void start() {
    if (path.empty()) return;
    auto reached = reach_hand(path);
    if (!reached) {
      trouble = reached.error().code == ENOENT ? "acting is not granted: " + reached.error().message : "rdmend-hand cannot be started: " + reached.error().message;
      return try_later();
    }
    hand = std::move(*reached);
    trouble.clear();
    socket_watch = reactor.watch(hand.socket.get(), {true, false}, [this](Reactor::Ready) { receive(); });
    if (hand.pidfd) child_watch = reactor.watch(hand.pidfd.get(), {true, false}, [this](Reactor::Ready) { gone("rdmend-hand " + how_it_ended(hand)); });
    pump();
  }

  void try_later() {
    retry = reactor.after(back_off, [this] {
      const auto spent = std::move(retry);
      start();
    });
    back_off = std::min(back_off * 2, kLongestBackOff);
  }

  void add(wire::HandRequest request, milliseconds limit, Done done) {
    if (auto why = unavailable(); !why.empty()) return refuse(std::move(done), std::move(why));
    if (calls.size() >= kMostWaiting) return refuse(std::move(done), "too many requests wait for rdmend-hand");
    const auto call = std::make_shared<Call>();
    call->reply.id = request.id;
    call->parts = split(std::move(request));
    call->done = std::move(done);
    call->deadline = reactor.after(limit, [this, call, limit] { overdue(call, limit); });
    calls.push_back(call);
    pump();
  }

  void refuse(Done done, std::string why) {
    reactor.post([done = std::move(done), why = std::move(why)] { done(Error{why}); });
  }

  // Sends the next part, when the hand is idle.
  void pump() {
    if (asked != 0 || !hand.socket || closing || calls.empty()) return;
    auto& call = *calls.front();
    auto& part = call.parts[call.next];
    part.id = next_id;
    const auto packet = wire::encode(part);
    if (!packet) return finish(packet.error());
    if (send(hand.socket.get(), packet->data(), packet->size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
      return errno == EPIPE || errno == ECONNRESET ? lost({}) : lost(errno_error("rdmend-hand cannot be asked", errno).message);
    asked = next_id;
    next_id = next_id == UINT32_MAX ? 1 : next_id + 1;
  }

  void receive() {
    buffer.resize(wire::kHandMostBytes + 1);
    const auto got = recv(hand.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return lost({});
    auto reply = wire::decode_reply(std::span(buffer).first(static_cast<std::size_t>(got)));
    if (!reply) return lost("rdmend-hand answers nonsense: " + reply.error().message);
    if (reply->id != asked || asked == 0) return lost("rdmend-hand answers what it was not asked" + (reply->error.empty() ? "" : ": " + printable(reply->error)));
    asked = 0;
    back_off = first_back_off;
    take(std::move(*reply));
  }

  void take(wire::HandReply reply) {
    auto& call = *calls.front();
    if (call.reply.error.empty()) call.reply.error = std::move(reply.error);
    call.reply.held_nanoseconds = std::max(call.reply.held_nanoseconds, reply.held_nanoseconds);
    std::move(reply.qps.begin(), reply.qps.end(), std::back_inserter(call.reply.qps));
    std::move(reply.neighbours.begin(), reply.neighbours.end(), std::back_inserter(call.reply.neighbours));
    if (++call.next < call.parts.size() && call.reply.error.empty()) return pump();
    finish(std::move(call.reply));
  }

  // Ends the first call; what it calls back may ask again.
  void finish(Result<wire::HandReply> result) {
    const auto call = std::move(calls.front());
    calls.pop_front();
    call->deadline.reset();
    reactor.post([call, result = std::move(result)] { call->done(result); });
    pump();
  }

  void overdue(const std::shared_ptr<Call>& call, milliseconds limit) {
    const auto at = std::find(calls.begin(), calls.end(), call);
    if (at == calls.end()) return;
    const bool under_way = at == calls.begin() && asked != 0;
    const auto spent = std::move(call->deadline);  // we run inside it
    calls.erase(at);
    const auto why = "rdmend-hand has not answered within " + format_duration(limit);
    reactor.post([call, why] { call->done(Error{why}); });
    if (under_way) lost(why);
  }

  // The connection is of no more use. `why` is the hand's misbehaviour, for which it is killed; "" when it has closed its socket, which a
  // child does by ending: how it ended says more, so that is waited for.
  void lost(std::string why) {
    if (!hand.pidfd) return gone(why.empty() ? "rdmend-hand has closed its socket" : std::move(why));
    asked = 0;
    closing = true;
    socket_watch.reset();
    hand.socket.reset();
    if (!why.empty()) kill_hand(hand);
    trouble = why.empty() ? "rdmend-hand is ending" : why + "; it is being replaced";
    blame = std::move(why);
  }

  void gone(std::string why) {
    if (!blame.empty()) why = std::exchange(blame, {});
    asked = 0;
    closing = false;
    socket_watch.reset();
    const auto spent = std::move(child_watch);  // we may run inside it
    hand = {};
    log::warning("hand", why, {{"next_start_in", format_duration(back_off)}});
    trouble = std::move(why);
    fail_all(trouble);
    try_later();
  }

  // What the hand had done of them is not known: their askers look again.
  void fail_all(const std::string& why) {
    const auto failed = std::exchange(calls, {});
    for (const auto& call : failed) {
      call->deadline.reset();
      reactor.post([call, why] { call->done(Error{why}); });
    }
  }

  [[nodiscard]] std::string unavailable() const {
    if (path.empty()) return "acting is not granted: rdmend runs without rdmend-hand";
    if (hand.socket && !closing) return {};
    return trouble.empty() ? "rdmend-hand has not been started" : trouble;
  }

  Reactor& reactor;
  const std::string path;
  const milliseconds first_back_off;
  HandProcess hand;
  std::deque<std::shared_ptr<Call>> calls;
  std::uint32_t next_id = 1;
  std::uint32_t asked = 0;  // the id that is to be answered
  bool closing = false;
  std::string trouble, blame;
  milliseconds back_off = first_back_off;
  std::vector<std::byte> buffer;
  Reactor::Handle socket_watch, child_watch, retry;
};

HandClient::HandClient(Reactor& reactor, std::string path, milliseconds first_back_off)
    : state_(std::make_unique<State>(reactor, std::move(path), first_back_off)) {}

HandClient::~HandClient() {
  // Its socket closes with us, and so it ends; a hand that hangs is not waited for.
  kill_hand(state_->hand);
}

void HandClient::start() { state_->start(); }

void HandClient::request(wire::HandRequest request, milliseconds deadline, std::function<void(Result<wire::HandReply>)> done) {
  state_->add(std::move(request), deadline, std::move(done));
}

std::string HandClient::unavailable() const { return state_->unavailable(); }

int HandClient::child() const { return state_->hand.pid; }

}  // namespace rdmend::daemon
