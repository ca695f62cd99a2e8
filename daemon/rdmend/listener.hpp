// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "config/config.hpp"

namespace rdmend::daemon {

// Who may connect to a unix socket: its mode and, when not empty, its group.
struct SocketAccess {
  unsigned mode = 0666;
  std::string group;
};

// A listening socket, non-blocking; a unix socket's file is removed with it, if it is still ours.
class Listener {
 public:
  // "[::]:9879" listens on IPv6 and IPv4, "127.0.0.1:9879", "localhost:9879", a unix socket's path. A socket file that
  // nobody listens on is replaced; one that is served is an error.
  static Result<Listener> open(const config::Listen& where, const SocketAccess& access = {});
  // A socket that listens already; it stays the caller's too, and so does a unix socket's file.
  static Result<Listener> adopt(int fd, const config::Listen& where);
  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool local() const { return !path_.empty(); }
  // The TCP port that was bound (of a listener on port 0); 0 for a unix socket.
  [[nodiscard]] std::uint16_t port() const;
  // The next connection, non-blocking; none with errno when there is none.
  [[nodiscard]] UniqueFd accept() const;

 private:
  Listener() = default;
  static Result<Listener> open_unix(const std::string& path, const SocketAccess& access);
  void remove_file();

  UniqueFd fd_;
  std::string path_;
  std::uint64_t inode_ = 0;
};

}  // namespace rdmend::daemon
