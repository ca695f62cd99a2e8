// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/reactor.hpp"

namespace rdmend::test {

// A loop on virtual time: timers fire when the test advances the clock, posted tasks when it runs them. Descriptors are
// never polled: code that needs them is tested on the real loop.
class VirtualReactor : public Reactor {
 public:
  explicit VirtualReactor(Timestamp wall = Timestamp{std::chrono::hours{24 * 365 * 56}}) { now_.wall = wall; }

  Handle watch(int, Interest, std::function<void(Ready)>) override { return std::make_unique<Watch>(); }
  Handle after(milliseconds delay, std::function<void()> callback) override { return timer(delay, milliseconds{0}, std::move(callback)); }
  Handle every(milliseconds period, std::function<void()> callback) override { return timer(period, period, std::move(callback)); }
  void post(std::function<void()> task) override {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(task));
    arrived_.notify_all();
  }
  [[nodiscard]] Now now() const override { return now_; }

  // Runs the tasks that were posted; returns how many.
  std::size_t run_posted() {
    std::size_t count = 0;
    while (auto task = take()) {
      task();
      ++count;
    }
    return count;
  }
  // Waits (in real time, at most `bound`) until `condition` holds, running what worker threads post.
  bool run_until(const std::function<bool()>& condition, milliseconds bound = seconds{20}) {
    const auto end = std::chrono::steady_clock::now() + bound;
    while (true) {
      run_posted();
      if (condition()) return true;
      std::unique_lock lock(mutex_);
      if (!arrived_.wait_until(lock, end, [&] { return !posted_.empty(); })) return condition();
    }
  }
  // Moves both clocks on, firing each timer at its own time.
  void advance(milliseconds by) {
    const auto end = now_.mono + by;
    run_posted();
    while (auto next = due(end)) {
      move_to(next->when);
      if (next->period.count() > 0)
        next->when += next->period;
      else
        next->armed = false;
      const auto callback = next->callback;
      callback();
      run_posted();
    }
    move_to(end);
  }

 private:
  struct Timer {
    Instant when;
    milliseconds period;
    std::function<void()> callback;
    bool armed = true;
  };
  struct TimerWatch : Watch {
    explicit TimerWatch(std::shared_ptr<Timer> t) : timer(std::move(t)) {}
    ~TimerWatch() override { timer->armed = false; }
    TimerWatch(const TimerWatch&) = delete;
    TimerWatch& operator=(const TimerWatch&) = delete;
    std::shared_ptr<Timer> timer;
  };

  Handle timer(milliseconds delay, milliseconds period, std::function<void()> callback) {
    auto made = std::make_shared<Timer>(Timer{now_.mono + delay, period, std::move(callback)});
    timers_.push_back(made);
    return std::make_unique<TimerWatch>(made);
  }
  std::shared_ptr<Timer> due(Instant end) {
    std::erase_if(timers_, [](const auto& t) { return !t->armed; });
    std::shared_ptr<Timer> first;
    for (const auto& t : timers_)
      if (t->when <= end && (!first || t->when < first->when)) first = t;
    return first;
  }
  void move_to(Instant to) {
    if (to <= now_.mono) return;
    now_.wall += std::chrono::duration_cast<milliseconds>(to - now_.mono);
    now_.mono = to;
  }
  std::function<void()> take() {
    const std::scoped_lock lock(mutex_);
    if (posted_.empty()) return {};
    auto task = std::move(posted_.front());
    posted_.pop_front();
    return task;
  }

  Now now_;
  std::list<std::shared_ptr<Timer>> timers_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> posted_;
};

}  // namespace rdmend::test
