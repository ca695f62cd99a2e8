// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace rdmend::test {

// A client that never waits: the test turns the loop until what it looks for has come. Sends what it is told, well formed or not.
class RawClient {
 public:
  static RawClient tcp(std::uint16_t port, int family = AF_INET) {
    RawClient out(family);
    if (family == AF_INET6) {
      sockaddr_in6 to{};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      to.sin6_addr = in6addr_loopback;
      out.connect_to(&to, sizeof to);
    } else {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      out.connect_to(&to, sizeof to);
    }
    return out;
  }
  static RawClient local(const std::string& path) {
    RawClient out(AF_UNIX);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    out.connect_to(&to, sizeof to);
    return out;
  }

  // Sends what the socket takes; the number of bytes.
  std::size_t send(std::string_view text) {
    const auto sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  RawClient& get(const std::string& target) {
    send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return *this;
  }
  // All that came so far.
  const std::string& received() {
    char buffer[16384];
    while (!closed_) {
      const auto count = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) break;
      if (count <= 0) closed_ = true;
      if (count > 0) text_.append(buffer, static_cast<std::size_t>(count));
    }
    return text_;
  }
  bool got(std::string_view part) { return received().find(part) != std::string::npos; }
  bool closed() {
    received();
    return closed_;
  }
  int fd() const { return fd_.get(); }

 private:
  explicit RawClient(int family) : fd_(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  template <class Address>
  void connect_to(const Address* to, socklen_t length) {
    failed_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(to), length) != 0 && errno != EINPROGRESS;
  }
  UniqueFd fd_;
  std::string text_;
  bool closed_ = false;
  bool failed_ = false;
};

}  // namespace rdmend::test
