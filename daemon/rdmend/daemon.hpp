// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "base/result.hpp"
#include "rdmend/loop.hpp"
#include "rdmend/settings.hpp"
#include "rdmend/sockets.hpp"

namespace rdmend::daemon {

struct DaemonOptions {
  std::string hand;  // program or socket of the external hand; "" when acting is not granted
  std::vector<PassedSocket> sockets;  // that systemd listens on for us
};

// The composition root: makes the rooms from the settings and lets them speak to each other.
class Daemon {
 public:
  Daemon(Loop& loop, Settings settings, const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Opens the sockets and begins to read; an error is what keeps it from starting.
  Result<void> start();
  // Reads the files again; with a fault in them all goes on as it was.
  void reload();
  // Takes leave of systemd, saves what must outlive us, closes the sockets.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmend::daemon
