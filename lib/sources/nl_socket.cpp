// SPDX-License-Identifier: Apache-2.0
#include "sources/nl_socket.hpp"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace rdmend::sources {
namespace {

constexpr std::size_t kDatagram = 65'536;  // the kernel fills at most 32 KiB of a dump at once
constexpr timeval kSilence{10, 0};         // an answer is in the queue when send() returns: longer means it was lost
constexpr std::size_t kMostLinks = 1024;

}  // namespace

Result<NlSocket> NlSocket::open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  if (!fd) return errno_error("opening rdma netlink", errno);
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) return errno_error("binding rdma netlink", errno);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kSilence, sizeof kSilence);
  return NlSocket(std::move(fd));
}

Result<void> NlSocket::ask(const nldev::Request& request, const std::function<Result<void>(nldev::Payload)>& visit) {
  const auto message = nldev::encode(request, ++sequence_);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(fd_.get(), message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return errno_error("rdma netlink", errno);
  std::vector<std::byte> datagram(kDatagram);
  while (true) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof from;
    const auto length = recvfrom(fd_.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_size);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno_error("rdma netlink", errno == EAGAIN ? ETIMEDOUT : errno);
    if (from.nl_pid != 0) continue;  // not the kernel
    const auto progress = nldev::for_each_message(std::span(datagram).first(static_cast<std::size_t>(length)), sequence_, visit);
    if (!progress) return progress.error();
    if (*progress == nldev::Progress::done) return {};
  }
}

Result<std::vector<nldev::Device>> list_devices(NlSocket& socket) {
  std::vector<nldev::Device> devices;
  const auto asked = socket.ask({.command = RDMA_NLDEV_CMD_GET, .dump = true}, [&](nldev::Payload payload) -> Result<void> {
    auto device = nldev::decode_device(payload);
    if (device && devices.size() < kMostLinks) devices.push_back(std::move(*device));
    return {};
  });
  if (!asked) return asked.error();
  return devices;
}

}  // namespace rdmend::sources
