// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <span>

#include "base/c_handle.hpp"
#include "base/result.hpp"

struct mnl_socket;
struct nlmsghdr;
extern "C" int mnl_socket_close(mnl_socket* socket);

namespace rdmend::hand {

// A netlink socket that is asked one thing after the other. Blocking, each answer within `limit`.
class Netlink {
 public:
  // `name` begins the errors' texts: "RDMA netlink".
  static Result<Netlink> open(int protocol, const char* name, std::chrono::seconds limit);

  using Callback = int (*)(const nlmsghdr*, void*);
  // Sends the request, whose sequence number is set here, and gives each message of its answer to `callback` with `data`, until the kernel
  // says that the answer is complete: the request asks for an acknowledgement or a dump. `buffer` is for what comes.
  Result<void> ask(nlmsghdr* request, std::span<char> buffer, Callback callback, void* data);

 private:
  Netlink(mnl_socket* socket, const char* name) : socket_(socket), name_(name) {}
  CHandle<mnl_socket, mnl_socket_close> socket_;
  const char* name_;
  std::uint32_t sequence_ = 0;
};

}  // namespace rdmend::hand
