// SPDX-License-Identifier: Apache-2.0
#include "rdmend/loop.hpp"

#include <ev.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace rdmend::daemon {
namespace {

// libev is C: nothing may be thrown through it.
template <class Call>
void guarded(const Call& call) {
  try {
    call();
  } catch (const std::exception& fault) {
    log::error("loop", "a callback threw", {{"what", fault.what()}});
  }
}

double to_seconds(milliseconds length) { return std::chrono::duration<double>(length).count(); }

Now read_clocks() {
  return {std::chrono::steady_clock::now(), std::chrono::floor<milliseconds>(std::chrono::system_clock::now())};
}

// A watcher and what it calls. The callback is shared with the call under way, so that it may destroy its own watch.
template <class Watcher, void (*Stop)(struct ev_loop*, Watcher*), class... Arguments>
struct LoopWatch : Reactor::Watch {
  using Callback = std::function<void(Arguments...)>;
  LoopWatch(struct ev_loop* in, Callback callback) : loop(in), call(std::make_shared<Callback>(std::move(callback))) {
    watcher.data = this;
  }
  ~LoopWatch() override { Stop(loop, &watcher); }
  LoopWatch(const LoopWatch&) = delete;
  LoopWatch& operator=(const LoopWatch&) = delete;
  static void fire(Watcher* from, Arguments... arguments) {
    const auto callback = static_cast<LoopWatch*>(from->data)->call;
    guarded([&] { (*callback)(arguments...); });
  }

  struct ev_loop* loop;
  std::shared_ptr<Callback> call;
  Watcher watcher{};
};
using IoWatch = LoopWatch<ev_io, ev_io_stop, Reactor::Ready>;
using TimerWatch = LoopWatch<ev_timer, ev_timer_stop>;
using SignalWatch = LoopWatch<ev_signal, ev_signal_stop>;

void on_io(struct ev_loop*, ev_io* io, int events) { IoWatch::fire(io, {(events & EV_READ) != 0, (events & EV_WRITE) != 0}); }
void on_timer(struct ev_loop*, ev_timer* timer, int) { TimerWatch::fire(timer); }
void on_signal_watcher(struct ev_loop*, ev_signal* signal, int) { SignalWatch::fire(signal); }

}  // namespace

struct Loop::State {
  // Not the default loop: that one would reap every child of the process, the hand's and the hooks' too.
  struct ev_loop* loop = ev_loop_new(EVFLAG_NOENV);
  ev_check clock_reader{};
  ev_prepare before_sleep{};
  Stats stats;
  ev_async wake{};
  Now now = read_clocks();
  std::function<void(milliseconds)> on_set_back;
  std::mutex mutex;
  std::vector<std::function<void()>> posted;

  void read() {
    const auto before = std::exchange(now, read_clocks());
    const auto by = set_back(before, now);
    ++stats.wakeups;
    if (by.count() > 0 && on_set_back) guarded([&] { on_set_back(by); });
  }
  void run_posted() {
    std::vector<std::function<void()>> tasks;
    {
      const std::scoped_lock lock(mutex);
      tasks.swap(posted);
    }
    for (const auto& task : tasks) guarded(task);
  }
  Handle timer(milliseconds delay, milliseconds period, std::function<void()> callback) {
    auto watch = std::make_unique<TimerWatch>(loop, std::move(callback));
    ev_timer_init(&watch->watcher, on_timer, to_seconds(delay), to_seconds(period));
    ev_timer_start(loop, &watch->watcher);
    return watch;
  }
};

Loop::Loop() : state_(std::make_unique<State>()) {
  auto& state = *state_;
  // Runs before all others after each wake-up: what they see as now() is the time of the wake-up.
  ev_check_init(&state.clock_reader, [](struct ev_loop*, ev_check* check, int) { static_cast<State*>(check->data)->read(); });
  ev_set_priority(&state.clock_reader, EV_MAXPRI);
  state.clock_reader.data = &state;
  ev_check_start(state.loop, &state.clock_reader);
  ev_prepare_init(&state.before_sleep, [](struct ev_loop*, ev_prepare* prepare, int) {
    auto& self = *static_cast<State*>(prepare->data);
    const auto worked = std::chrono::steady_clock::now() - self.now.mono;
    self.stats.busy += worked;
    self.stats.longest = std::max<nanoseconds>(self.stats.longest, worked);
  });
  state.before_sleep.data = &state;
  ev_prepare_start(state.loop, &state.before_sleep);
  ev_async_init(&state.wake, [](struct ev_loop*, ev_async* async, int) { static_cast<State*>(async->data)->run_posted(); });
  state.wake.data = &state;
  ev_async_start(state.loop, &state.wake);
}

Loop::~Loop() {
  ev_async_stop(state_->loop, &state_->wake);
  ev_check_stop(state_->loop, &state_->clock_reader);
  ev_prepare_stop(state_->loop, &state_->before_sleep);
  ev_loop_destroy(state_->loop);
}

milliseconds set_back(Now before, Now after) {
  const auto by = std::chrono::floor<milliseconds>(after.mono - before.mono) - (after.wall - before.wall);
  return by > seconds{1} ? by : milliseconds{0};
}

void Loop::on_set_back(std::function<void(milliseconds)> callback) { state_->on_set_back = std::move(callback); }

Reactor::Handle Loop::watch(int fd, Interest interest, std::function<void(Ready)> callback) {
  auto watch = std::make_unique<IoWatch>(state_->loop, std::move(callback));
  ev_io_init(&watch->watcher, on_io, fd, (interest.readable ? EV_READ : 0) | (interest.writable ? EV_WRITE : 0));
  ev_io_start(state_->loop, &watch->watcher);
  return watch;
}

Reactor::Handle Loop::after(milliseconds delay, std::function<void()> callback) {
  return state_->timer(delay, milliseconds{0}, std::move(callback));
}

Reactor::Handle Loop::every(milliseconds period, std::function<void()> callback) {
  return state_->timer(period, period, std::move(callback));
}

void Loop::post(std::function<void()> task) {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->posted.push_back(std::move(task));
  }
  ev_async_send(state_->loop, &state_->wake);
}

Now Loop::now() const { return state_->now; }

Reactor::Handle Loop::on_signal(int signal, std::function<void()> callback) {
  auto watch = std::make_unique<SignalWatch>(state_->loop, std::move(callback));
  ev_signal_init(&watch->watcher, on_signal_watcher, signal);
  ev_signal_start(state_->loop, &watch->watcher);
  return watch;
}

void Loop::run() {
  ev_now_update(state_->loop);
  state_->now = read_clocks();
  ev_run(state_->loop, 0);
}

bool Loop::run_until(const std::function<bool()>& condition, milliseconds bound) {
  ev_now_update(state_->loop);
  state_->now = read_clocks();
  bool late = false;
  const auto deadline = after(bound, [&] { late = true; });
  while (!condition() && !late) ev_run(state_->loop, EVRUN_ONCE);
  return condition();
}

void Loop::stop() { ev_break(state_->loop, EVBREAK_ALL); }
Loop::Stats Loop::stats() const { return state_->stats; }

}  // namespace rdmend::daemon
