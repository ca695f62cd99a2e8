// SPDX-License-Identifier: Apache-2.0
#include "rdmend/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <array>
#include <optional>

#include "base/log.hpp"

namespace rdmend::daemon {
namespace {

std::optional<config::Listen> address_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  config::Listen out;
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    out.host = inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    out.port = ntohs(in.sin_port);
    out.text = out.host + ":" + std::to_string(out.port);
  } else if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    out.host = inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
    out.port = ntohs(in.sin6_port);
    out.text = "[" + out.host + "]:" + std::to_string(out.port);
  } else if (address.ss_family == AF_UNIX && reinterpret_cast<const sockaddr_un&>(address).sun_path[0] == '/') {
    out.path = reinterpret_cast<const sockaddr_un&>(address).sun_path;
    out.text = "unix:" + out.path;
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<std::array<unsigned char, 17>> binary(const std::string& host) {
  std::array<unsigned char, 17> out{};
  if (inet_pton(AF_INET6, host.c_str(), out.data()) == 1) return out;
  out[16] = 1;
  if (inet_pton(AF_INET, host.c_str(), out.data()) == 1) return out;
  return std::nullopt;
}

}  // namespace

std::vector<PassedSocket> passed_sockets() {
  std::vector<PassedSocket> out;
  const int count = sd_listen_fds(1);
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    if (auto where = address_of(fd))
      out.push_back({fd, std::move(*where)});
    else
      log::warning("http", "a descriptor that was passed is no listening stream socket", {{"fd", std::to_string(fd)}});
  }
  return out;
}

bool same_address(const config::Listen& a, const config::Listen& b) {
  if (!a.path.empty() || !b.path.empty()) return a.path == b.path;
  const auto left = binary(a.host);
  return left && left == binary(b.host) && a.port == b.port;
}

}  // namespace rdmend::daemon
