// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <queue>
#include <string>

#include "scenarios/recovery/model_agent.hpp"

// Two hosts with an application, an agent and a device each, a wire and a way for messages, under virtual time; and the judge. One
// World is one schedule.
namespace rdmend::test {

class World {
 public:
  World(Chooser& chooser, bool systematic, bool tracing, Mutant mutant) : chooser_(chooser), systematic_(systematic), tracing_(tracing), mutant_(mutant) {
    const auto give_up_after = mutant == Mutant::never_gives_up ? seconds{10} : kGiveUp;
    agent::RecoverySettings settings{give_up_after, milliseconds{1}, milliseconds{1}, milliseconds{8}};
    for (std::size_t i = 0; i < 2; ++i) {
      auto& h = hosts_[i];
      settings.live_psn = chooser_.next() % 12 != 0;
      h.agent = std::make_unique<ModelAgent>(h.device, settings, 100 + i, chooser_, mutant);
      wire(i);
    }
    faults();
    agree();
    for (std::size_t i = 0; i < 2; ++i) {
      const auto start = agent::kPsnRing + (chooser_.next() % 3 == 0 ? agent::kPsnMask - chooser_.next() % 9000 : chooser_.next() % agent::kPsnRing);
      hosts_[i].start = start;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      hosts_[i].agent->connect(agent::wire_psn(hosts_[1 - i].start), hosts_[i].start);
      script(i);
    }
  }

  // "" when nothing is wrong.
  std::string run() {
    while (!events_.empty() && fault_.empty() && !finished()) {
      const auto event = events_.top();
      events_.pop();
      now_ = event.at;
      if (now_ > kEnd) break;
      handle(event);
    }
    if (fault_.empty()) last_judgement();
    return fault_;
  }
  [[nodiscard]] std::uint32_t generations() const { return std::max(hosts_[0].agent->machine.generation(), hosts_[1].agent->machine.generation()); }
  [[nodiscard]] bool ended() const { return hosts_[0].agent->ended() || hosts_[1].agent->ended(); }

 private:
  using Tick = std::int64_t;  // microseconds
  static constexpr Tick kEnd = 400'000;
  static constexpr nanoseconds kGiveUp = milliseconds{100};

  enum class What : std::uint8_t { packet, message, timer, app_post, app_poll, app_receive, drained, rebuild, rebuilt, wake, leave, die };
  struct Event {
    Tick at = 0;
    std::uint64_t order = 0;
    What what = What::wake;
    std::uint8_t host = 0;
    std::uint32_t a = 0, b = 0;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Posted {
    WorkRequest wr;
    std::array<std::uint64_t, 4> golden{}, got{};
    std::array<std::uint8_t, 4> executed{};
    std::uint32_t packets = 1;
    bool delivered = false;
  };
  struct Host {
    Device device;
    std::unique_ptr<ModelAgent> agent;
    std::uint64_t start = 0;
    std::vector<Posted> posted;  // what its application asked of the other
    std::size_t due = 0;         // so many of them have been posted
    std::array<std::uint64_t, Device::kCells> golden{};  // the other's memory, as it should become
    std::size_t told = 0, received = 0, delivered = 0, executing = 0;
    std::uint32_t packet = 0;  // the next to be executed of `executing`
    bool failed = false, dead = false, left = false;
    std::optional<Status> error;  // that its device gave, and a recovery has not made good
    bool error_old = false;       // its QP was rebuilt since
    Tick wake = 0;                // when it is to be woken, 0 when it is not
    Tick withholds = 0;           // since when, 0 when it does not
  };

  Instant instant() const { return Instant{std::chrono::microseconds{now_}}; }
  void push(Tick in, What what, std::size_t host, std::uint32_t a = 0, std::uint32_t b = 0) {
    events_.push({now_ + in, order_++, what, static_cast<std::uint8_t>(host), a, b});
  }
  void say(std::size_t host, const char* format, ...) __attribute__((format(printf, 3, 4))) {
    if (!tracing_) return;
    std::printf("%8lld us  %c  ", static_cast<long long>(now_), host == 0 ? 'A' : 'B');
    va_list list;
    va_start(list, format);
    std::vprintf(format, list);
    va_end(list);
    std::printf("\n");
  }
  void wrong(std::size_t host, const std::string& what) {
    if (fault_.empty()) fault_ = std::string(host == 0 ? "A: " : "B: ") + what;
  }
  // In a systematic run what the data path does is given by the seed, and only the protocol's own interleavings are chosen.
  bool data_chance(std::uint32_t permille) { return systematic_ ? chooser_.next() % 1000 < permille : chooser_.chance(permille); }
  std::uint32_t data_pick(std::uint32_t options) { return systematic_ ? static_cast<std::uint32_t>(chooser_.next() % options) : chooser_.pick(options); }

  void wire(std::size_t i) {
    auto& h = hosts_[i];
    h.device.transmit = [this, i](const Packet& p) { send_packet(i, p); };
    h.device.arm_timer = [this, i](std::uint32_t epoch, bool rnr) { push(rnr ? 60 : 100, What::timer, i, epoch, rnr ? 1 : 0); };
    // The witness of a device tells what the *other* host's requests did here, and what came back to its own.
    h.device.witness.executed = [this, i](int request, std::uint32_t packet) { executed(1 - i, request, packet); };
    h.device.witness.returned = [this, i](int request, std::uint32_t index, std::uint64_t value) {
      hosts_[i].posted[static_cast<std::size_t>(request)].got[index] = value;
    };
    h.device.witness.failed = [this, i](Status status) { hosts_[i].error = status, hosts_[i].error_old = false; };
    h.agent->begin_drain = [this, i](std::uint32_t generation) { push(20 + 200 * chooser_.pick(3), What::drained, i, generation); };
    h.agent->begin_rebuild = [this, i](std::uint32_t generation) { push(5 + 300 * chooser_.pick(3), What::rebuild, i, generation); };
    h.agent->tell = [this, i](const AppCompletion& c) { told(i, c); };
    h.agent->trace = [this, i](const char* what) { say(i, "%s (generation %u)", what, hosts_[i].agent->machine.generation()); };
  }
  // What is lost when: the seed says it, so that a schedule made smaller stays about the same faults.
  void faults() {
    const auto kind = chooser_.next() % 10;
    const Tick from = static_cast<Tick>(chooser_.next() % 1500), lasts = static_cast<Tick>(200 + chooser_.next() % 4000);
    cut_from_ = {from, from};
    cut_until_ = {kind % 3 == 1 ? from : from + lasts, kind % 3 == 2 ? from : from + lasts};
    if (kind == 9) cut_until_ = {kEnd, kEnd};
    loss_ = kind >= 6 ? 20 + static_cast<std::uint32_t>(chooser_.next() % 200) : 0;
    ghosts_ = chooser_.next() % 4 == 0;
    message_loss_ = chooser_.next() % 3 == 0 ? 300 : 0;
    daemon_down_from_ = static_cast<Tick>(chooser_.next() % 6000);
    daemon_down_until_ = daemon_down_from_ + (chooser_.next() % 6 == 0 ? static_cast<Tick>(chooser_.next() % 10000) : 0);
    if (chooser_.next() % 40 == 0) daemon_down_until_ = kEnd;
    for (auto& h : hosts_) h.device.retries = static_cast<std::uint8_t>(chooser_.next() % 3);
    agreed_ = chooser_.next() % 20 != 0;
    benign_ = kind != 9 && daemon_down_until_ != kEnd;
    if (chooser_.next() % 30 == 0) harm(What::die);
    if (chooser_.next() % 20 == 0) harm(What::leave);
  }
  void harm(What what) {
    push(static_cast<Tick>(chooser_.next() % 8000), what, chooser_.next() % 2);
    benign_ = false;
  }
  // The daemon's word may have come to one end only; the other learns it from the first message.
  void agree() {
    if (!agreed_ && mutant_ != Mutant::holds_what_was_not_agreed) return;
    hosts_[0].agent->machine.agreed(101);
    if (chooser_.next() % 8 != 0) hosts_[1].agent->machine.agreed(100);
  }
  void script(std::size_t i) {
    auto& h = hosts_[i];
    const auto count = i == 1 && chooser_.next() % 3 == 0 ? 0 : 2 + chooser_.next() % 10;
    const bool atomics = chooser_.next() % 5 == 0, poisoned = chooser_.next() % 40 == 0;
    Tick at = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      Posted p;
      p.wr.kind = static_cast<RequestKind>(chooser_.next() % (atomics ? 5 : 4));
      p.wr.script = static_cast<int>(k);
      p.wr.cells = p.wr.kind == RequestKind::atomic ? 1 : static_cast<std::uint32_t>(chooser_.next() % 5);
      if (p.wr.cells > 0) p.wr.cell = static_cast<std::uint32_t>(chooser_.next() % (Device::kCells + 1 - p.wr.cells));
      p.wr.signalled = k + 1 == count || chooser_.next() % 2 == 0;
      p.wr.poisoned = poisoned && k == count / 2;
      p.packets = p.wr.kind == RequestKind::read ? 0 : std::max(1U, p.wr.cells);
      foresee(h, p);
      h.posted.push_back(p);
      push(at, What::app_post, i, static_cast<std::uint32_t>(k));
      at += static_cast<Tick>(chooser_.next() % 400);
    }
    const Tick starves = chooser_.next() % 6 == 0 ? static_cast<Tick>(chooser_.next() % 3000) : 0;
    for (int r = 0; r < 3; ++r) push(starves, What::app_receive, i);
    push(50, What::app_poll, i);
  }
  // One after the other, as the application may expect it.
  static void foresee(Host& h, Posted& p) {
    for (std::uint32_t c = 0; c < p.wr.cells; ++c) {
      auto& cell = h.golden[p.wr.cell + c];
      p.golden[c] = cell;
      if (p.wr.kind == RequestKind::write || p.wr.kind == RequestKind::write_with_imm) cell = static_cast<std::uint64_t>(p.wr.script + 1) * 16 + c;
      if (p.wr.kind == RequestKind::atomic) cell += 1000;
    }
  }

  void send_packet(std::size_t from, const Packet& p) {
    const bool cut = now_ >= cut_from_[from] && now_ < cut_until_[from];
    if (cut || data_chance(now_ < 30'000 ? loss_ : 0)) return;
    Tick delay = 5;
    if (ghosts_ && data_chance(60)) delay = 100 + 900 * static_cast<Tick>(data_pick(5));
    const auto at = packets_.size();
    packets_.push_back(p);
    const bool in_order = delay == 5;
    // What is not delayed keeps its order.
    if (in_order) delay = std::max<Tick>(delay, last_arrival_[from] - now_);
    if (in_order) last_arrival_[from] = now_ + delay;
    push(delay, What::packet, 1 - from, static_cast<std::uint32_t>(at));
    if (ghosts_ && data_chance(40)) push(300 + 1500 * static_cast<Tick>(data_pick(4)), What::packet, 1 - from, static_cast<std::uint32_t>(at));
  }
  void send_state(std::size_t from) {
    if (!agreed_ || (now_ >= daemon_down_from_ && now_ < daemon_down_until_)) return;
    if (chooser_.chance(systematic_ ? 500 : message_loss_)) return;
    const auto at = messages_.size();
    messages_.push_back(hosts_[from].agent->machine.state());
    push(30 + 400 * static_cast<Tick>(chooser_.pick(3)), What::message, 1 - from, static_cast<std::uint32_t>(at));
    if (!systematic_ && chooser_.chance(50)) push(2000, What::message, 1 - from, static_cast<std::uint32_t>(at));
  }

  void handle(const Event& e) {
    auto& h = hosts_[e.host];
    if (h.dead) return;
    switch (e.what) {
      case What::packet: h.device.receive(Packet{packets_[e.a]}); return;  // a copy: what it answers is added to them
      case What::timer: h.device.timed_out(e.a, e.b != 0); return;
      case What::message:
        if (interferes(e.host)) return;
        hear(e.host, RecoveryState{messages_[e.a]});
        break;
      case What::app_post:
        if (!h.failed && !h.left) {
          h.agent->post_send(h.posted[e.a].wr);
          h.due = e.a + 1;
        }
        break;
      case What::app_receive:
        if (!h.failed && !h.left) h.agent->post_receive();
        break;
      case What::app_poll:
        if (!h.left) h.agent->poll(instant());
        push(60 + 200 * static_cast<Tick>(chooser_.next() % 2), What::app_poll, e.host);
        break;
      case What::drained:
        if (interferes(e.host)) return;
        h.agent->finish_drain(instant(), e.a);
        break;
      case What::rebuild:
        if (interferes(e.host)) return;
        if (h.agent->start_rebuild(instant(), e.a)) push(20 + 400 * static_cast<Tick>(chooser_.pick(2)), What::rebuilt, e.host, e.a);
        break;
      case What::rebuilt: {
        const bool well = !chooser_.chance(systematic_ ? 300 : 30);
        if (interferes(e.host)) return;
        say(e.host, "is built%s", well ? "" : ": no, modify failed");
        h.error_old = h.error_old || well;
        h.agent->finish_rebuild(instant(), e.a, well);
        break;
      }
      case What::leave: leave(e.host); break;
      case What::die: return die(e.host);
      case What::wake: h.wake = 0; break;
    }
    attend(e.host);
  }
  void leave(std::size_t host) {
    say(host, "the application ends the connection");
    hosts_[host].left = true;
    hosts_[host].agent->machine.forbidden(instant(), RecoveryCause::application);
    hosts_[host].device.to_error();
  }
  void die(std::size_t host) {
    say(host, "dies");
    hosts_[host].dead = true;
  }
  // At each step of the protocol a systematic run may let the worst happen just before it. True when the host is no more.
  bool interferes(std::size_t host) {
    if (!systematic_) return false;
    const auto choice = chooser_.pick(5);
    benign_ = benign_ && (choice == 0 || choice == 4);
    switch (choice) {
      case 1: die(host); return true;
      case 2: leave(host); return false;
      case 3:
        say(host, "both daemons die");
        daemon_down_from_ = now_;
        daemon_down_until_ = kEnd;
        return false;
      case 4:
        say(host, "its device gives up");
        hosts_[host].device.fail_now();
        return false;
      default: return false;
    }
  }
  void hear(std::size_t host, RecoveryState state) {
    auto& h = hosts_[host];
    if (mutant_ == Mutant::stale_generation) state.generation = std::max(state.generation, h.agent->machine.generation());
    say(host, "hears generation %u %s%s", state.generation, recovery_phase_name(state.phase), state.verdict == RecoveryVerdict::yes ? " yes" : "");
    h.agent->machine.heard(instant(), state);
  }
  void attend(std::size_t host) {
    auto& agent = *hosts_[host].agent;
    agent.step(instant());
    bound(host);
    if (agent.machine.say(instant())) {
      say(host, "says generation %u %s%s", agent.machine.generation(), recovery_phase_name(agent.machine.state().phase),
          agent.machine.state().verdict == RecoveryVerdict::yes ? " yes" : "");
      send_state(host);
    }
    if (const auto at = agent.machine.wake_at(instant())) {
      const auto tick = std::max<Tick>(now_ + 1, std::chrono::duration_cast<std::chrono::microseconds>(at->time_since_epoch()).count());
      if (hosts_[host].wake != 0 && hosts_[host].wake <= tick) return;
      hosts_[host].wake = tick;
      push(tick - now_, What::wake, host);
    }
  }

  // ---- the judge
  void bound(std::size_t host) {
    auto& h = hosts_[host];
    const auto refusal = h.agent->machine.state().refusal;
    if (benign_ && h.agent->machine.cause() == RecoveryCause::gave_up) return wrong(host, "gives up though nothing was in the way for long");
    if (refusal == RecoveryRefusal::psn_foreign || refusal == RecoveryRefusal::psn_window) return wrong(host, "takes the other's PSN for foreign");
    if (!h.agent->machine.withholds()) {
      h.withholds = 0;
      return;
    }
    if (!agreed_) return wrong(host, "holds what was not agreed on");
    if (h.withholds == 0) h.withholds = now_;
    if (instant() - Instant{std::chrono::microseconds{h.withholds}} > kGiveUp + milliseconds{5}) wrong(host, "withholds for longer than give_up_after");
  }
  void executed(std::size_t asker, int request, std::uint32_t packet) {
    auto& h = hosts_[asker];
    if (request < 0) return;
    auto& p = h.posted[static_cast<std::size_t>(request)];
    say(asker, "request %d packet %u is executed", request, packet);
    // A SEND that was begun and not finished begins again; the receive was never handed out.
    const bool again = p.wr.kind == RequestKind::send && packet == 0 && h.executing == static_cast<std::size_t>(request) && !p.delivered;
    while (h.executing < h.posted.size() && h.posted[h.executing].packets == 0) ++h.executing, h.packet = 0;
    if (again) h.packet = 0;
    if (h.executing != static_cast<std::size_t>(request) || h.packet != packet)
      return wrong(asker, fmt::format("request {} packet {} is executed where request {} packet {} was due", request, packet, h.executing, h.packet));
    if (p.wr.kind != RequestKind::send && ++p.executed[packet] > 1) return wrong(asker, fmt::format("request {} is executed twice", request));
    if (++h.packet == p.packets) ++h.executing, h.packet = 0;
    if (packet + 1 == p.packets) p.delivered = true;
  }
  bool whole(const Host& h, std::size_t request) const { return h.posted[request].packets == 0 || h.posted[request].delivered; }

  void told(std::size_t i, const AppCompletion& c) {
    auto& h = hosts_[i];
    if (h.left) return;
    if (c.receive) return received(i, c);
    const auto request = static_cast<std::size_t>(c.script);
    say(i, "the application is told request %zu: %s", request, c.status == Status::success ? "success" : c.status == Status::flushed ? "flushed" : "error");
    if (request < h.told) return wrong(i, fmt::format("request {} is completed twice or out of order", request));
    for (auto k = h.told; k < request; ++k)
      if (h.posted[k].wr.signalled || h.failed) return wrong(i, fmt::format("the completion of request {} is missing", k));
    h.told = request + 1;
    if (c.status != Status::success) return told_error(i, request, c.status);
    if (h.failed) return wrong(i, "success after an error");
    if (!h.posted[request].wr.signalled) return wrong(i, fmt::format("request {} was not signalled and is told", request));
    if (h.error_old) h.error.reset();
    for (std::size_t k = 0; k <= request; ++k) {
      if (!whole(h, k)) return wrong(i, fmt::format("request {} is told as success and was not executed", k));
      const auto& p = h.posted[k];
      if ((p.wr.kind == RequestKind::read || p.wr.kind == RequestKind::atomic) && p.got != p.golden)
        return wrong(i, fmt::format("request {} brought back what is wrong", k));
    }
  }
  // The first error is what its own device said, or a flush when only the other's did.
  void told_error(std::size_t i, std::size_t request, Status status) {
    auto& h = hosts_[i];
    const bool right = h.failed || status == Status::flushed ? h.failed || !h.error || h.error_old : status == h.error;
    if (!right) return wrong(i, fmt::format("request {} is told an error that is not the original one", request));
    if (h.failed && status != Status::flushed) return wrong(i, fmt::format("request {} behind the error is not flushed", request));
    h.failed = true;
  }
  // The other's messages, one after the other; a receive is posted again.
  void received(std::size_t i, const AppCompletion& c) {
    if (c.number != hosts_[i].received++) return wrong(i, fmt::format("receive {} is completed out of order, or twice", c.number));
    if (c.status != Status::success) {
      hosts_[i].failed = true;
      return;
    }
    auto& sender = hosts_[1 - i];
    auto& next = sender.delivered;
    while (next < sender.posted.size() && !takes(sender.posted[next])) ++next;
    if (static_cast<int>(next) != c.message) return wrong(i, fmt::format("message {} is received where {} was due", c.message, next));
    ++next;
    push(10 + 60 * static_cast<Tick>(chooser_.next() % 3), What::app_receive, i);
  }
  bool done(const Host& h) const {
    const bool all = h.due == h.posted.size() && h.told == h.posted.size() && h.agent->idle();
    return h.dead || h.left || h.failed || h.agent->ended() || all;
  }
  bool finished() const { return now_ > 6000 && done(hosts_[0]) && done(hosts_[1]) && quiet(hosts_[0]) && quiet(hosts_[1]); }
  static bool quiet(const Host& h) { return h.dead || h.left || !h.agent->machine.recovering(); }

  static bool takes(const Posted& p) { return p.wr.kind == RequestKind::send || p.wr.kind == RequestKind::write_with_imm; }
  void last_judgement() {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& h = hosts_[i];
      const auto& other = hosts_[1 - i];
      if (h.dead || h.left) continue;
      const char* phase = recovery_phase_name(h.agent->machine.state().phase);
      if (!done(h)) return wrong(i, fmt::format("hangs: {} of {} requests told, phase {}", h.told, h.posted.size(), phase));
      if (!quiet(h)) return wrong(i, fmt::format("is in recovery for ever, phase {}", phase));
      if (h.failed || h.agent->ended() || other.dead) continue;
      if (h.golden != other.device.memory) return wrong(i, "the other's memory is not what its requests make it");
      const auto messages = std::count_if(h.posted.begin(), h.posted.end(), takes);
      const auto received = std::count_if(h.posted.begin(), h.posted.begin() + static_cast<std::ptrdiff_t>(h.delivered), takes);
      if (received != messages && !other.left && !other.failed && !other.agent->ended()) return wrong(i, "not all of its messages were received");
    }
  }

  Chooser& chooser_;
  bool systematic_, tracing_, agreed_ = true;
  bool benign_ = true;  // all that is in the way of a recovery passes
  Mutant mutant_;
  std::array<Host, 2> hosts_;
  std::priority_queue<Event> events_;
  std::vector<Packet> packets_;
  std::vector<RecoveryState> messages_;
  std::string fault_;
  Tick now_ = 0;
  std::uint64_t order_ = 0;
  std::array<Tick, 2> cut_from_{}, cut_until_{}, last_arrival_{};
  std::uint32_t loss_ = 0, message_loss_ = 0;
  Tick daemon_down_from_ = 0, daemon_down_until_ = 0;
  bool ghosts_ = false;
};

}  // namespace rdmend::test
