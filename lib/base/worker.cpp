// SPDX-License-Identifier: Apache-2.0
#include "base/worker.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace rdmend {

// Shared by the owner, the thread and every closure under way, so that each may outlive the others.
struct Worker::State {
  explicit State(Reactor& r) : reactor(&r) {}
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable idle;
  std::deque<std::function<std::function<void()>()>> jobs;
  bool running = false;
  bool ended = false;
  Instant since = Instant::max();
  Reactor* reactor;
};

namespace {

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Worker::Worker(Reactor& reactor, const std::string& name) : state_(std::make_shared<State>(reactor)) {
  std::thread([state = state_, name = name.substr(0, 15)] {
    block_signals();
    pthread_setname_np(pthread_self(), name.c_str());
    std::unique_lock lock(state->mutex);
    while (true) {
      state->wake.wait(lock, [&] { return state->ended || !state->jobs.empty(); });
      if (state->ended) return;
      auto job = std::move(state->jobs.front());
      state->jobs.pop_front();
      state->running = true;
      state->since = std::chrono::steady_clock::now();
      lock.unlock();
      auto deliver = job();
      job = nullptr;
      lock.lock();
      state->running = false;
      state->since = Instant::max();
      // The loop outlives its workers' owners, and `ended` is only ever set on the loop's thread.
      if (!state->ended && deliver)
        state->reactor->post([state, deliver = std::move(deliver)] {
          if (!state->ended) deliver();
        });
      if (state->jobs.empty()) state->idle.notify_all();
    }
  }).detach();
}

Worker::~Worker() {
  const std::scoped_lock lock(state_->mutex);
  state_->ended = true;
  state_->jobs.clear();
  state_->wake.notify_all();
  state_->idle.notify_all();
}

bool Worker::submit(std::function<std::function<void()>()> job) {
  const std::scoped_lock lock(state_->mutex);
  if (state_->jobs.size() >= limit) return false;
  state_->jobs.push_back(std::move(job));
  state_->wake.notify_one();
  return true;
}

Instant Worker::busy_since() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->since;
}

std::size_t Worker::pending() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->jobs.size() + (state_->running ? 1 : 0);
}

bool Worker::drain(milliseconds deadline) {
  std::unique_lock lock(state_->mutex);
  return state_->idle.wait_for(lock, deadline, [&] { return state_->ended || (state_->jobs.empty() && !state_->running); });
}

}  // namespace rdmend
