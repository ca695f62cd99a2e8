// SPDX-License-Identifier: Apache-2.0
#include "netlink.hpp"

#include <libmnl/libmnl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace rdmend::hand {

Result<Netlink> Netlink::open(int protocol, const char* name, std::chrono::seconds limit) {
  Netlink netlink(mnl_socket_open2(protocol, SOCK_CLOEXEC), name);
  if (!netlink.socket_) return errno_error(name, errno);
  if (mnl_socket_bind(netlink.socket_.get(), 0, MNL_SOCKET_AUTOPID) != 0) return errno_error(name, errno);
  const timeval silence{limit.count(), 0};
  if (setsockopt(mnl_socket_get_fd(netlink.socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) != 0) return errno_error(name, errno);
  return netlink;
}

Result<void> Netlink::ask(nlmsghdr* request, std::span<char> buffer, Callback callback, void* data) {
  request->nlmsg_seq = ++sequence_;
  if (mnl_socket_sendto(socket_.get(), request, request->nlmsg_len) < 0) return errno_error(name_, errno);
  const auto id = mnl_socket_get_portid(socket_.get());
  while (true) {
    const auto got = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
    if (got < 0) return errno_error(name_, errno);
    // What is left of an answer that was given up must not be taken for this one's.
    if (static_cast<std::size_t>(got) >= sizeof(nlmsghdr) && reinterpret_cast<const nlmsghdr*>(buffer.data())->nlmsg_seq != sequence_) continue;
    const int more = mnl_cb_run(buffer.data(), static_cast<std::size_t>(got), sequence_, id, callback, data);
    if (more < 0) return errno_error(name_, errno);
    if (more == MNL_CB_STOP) return {};
  }
}

}  // namespace rdmend::hand
