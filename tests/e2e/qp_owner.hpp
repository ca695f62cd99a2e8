// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace rdmend::test {

using Steady = std::chrono::steady_clock;

// An ordinary verbs process, spoken to line by line.
class QpOwner {
 public:
  QpOwner(const std::string& mode, int count) {
    int in[2], out[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0);
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl(QP_OWNER, QP_OWNER, mode.c_str(), std::to_string(count).c_str(), nullptr);
      _exit(127);
    }
    to_.reset(in[1]);
    from_.reset(out[0]);
    close(in[0]);
    close(out[1]);
    for (auto line = read_line(); line != "ready"; line = read_line()) {
      std::istringstream words(line);
      std::string qp, device;
      std::uint32_t qpn = 0;
      int timer = 0;
      words >> qp >> device >> qpn >> timer;
      REQUIRE(qp == "qp");
      made[device][qpn] = timer;
    }
  }
  ~QpOwner() {
    end();
    if (heir > 0) kill(heir, SIGKILL);
  }
  QpOwner(const QpOwner&) = delete;
  QpOwner& operator=(const QpOwner&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    reap();
  }
  void reap() {
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void say(const std::string& line) const {
    REQUIRE(write(to_.get(), (line + "\n").data(), line.size() + 1) > 0);
  }
  std::string tell(const std::string& line) {
    say(line);
    return read_line();
  }
  std::string read_line(seconds bound = seconds{120}) {
    const auto end = Steady::now() + bound;
    while (pending_.find('\n') == std::string::npos) {
      pollfd ready{from_.get(), POLLIN, 0};
      const auto left =
          std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(end - Steady::now()).count());
      if (poll(&ready, 1, static_cast<int>(left)) <= 0) return "(silence)";
      char buffer[4096];
      const auto got = read(from_.get(), buffer, sizeof buffer);
      if (got <= 0) return "(end)";
      pending_.append(buffer, static_cast<std::size_t>(got));
    }
    const auto at = pending_.find('\n');
    auto line = pending_.substr(0, at);
    pending_.erase(0, at + 1);
    return line;
  }
  // What the process itself reads back from its driver.
  std::map<std::string, std::map<std::uint32_t, int>> timers() {
    std::map<std::string, std::map<std::uint32_t, int>> out;
    say("timers");
    for (auto line = read_line(); line != "ok"; line = read_line()) {
      std::istringstream words(line);
      std::string word, device;
      std::uint32_t qpn = 0;
      int timer = 0;
      words >> word >> device >> qpn >> timer;
      if (word != "timer") FAIL(line);
      out[device][qpn] = timer;
    }
    return out;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  std::map<std::string, std::map<std::uint32_t, int>> made;  // device, QPN, timer
  pid_t heir = 0;

 private:
  pid_t pid_ = 0;
  UniqueFd to_, from_;
  std::string pending_;
};

}  // namespace rdmend::test
