// SPDX-License-Identifier: Apache-2.0
#include "sources/neighbour_reader.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "sources/sysfs.hpp"

namespace rdmend::sources {
namespace {

constexpr std::size_t kRouteDatagram = 65'536;  // the kernel fills at most 32 KiB of a dump at once
constexpr timeval kRouteSilence{10, 0};
constexpr int kMostAbove = 3;            // a VLAN on a bond in a bridge
constexpr int kMostDropped = 65'536;

// What still waits is older than what was dropped: taken in after the next reading it would undo that.
void drop_all(int socket) {
  std::byte one{};
  for (int i = 0; i < kMostDropped; ++i)
    if (recv(socket, &one, sizeof one, MSG_DONTWAIT) < 0 && errno != EINTR && errno != ENOBUFS) return;
}

}  // namespace

int NeighbourReader::open() {
  if (!root_) {
    auto root = open_dir(AT_FDCWD, sysfs_);
    if (!root) return root.error().code;
    root_ = std::move(*root);
  }
  if (socket_) return 0;
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return errno;
  sockaddr_nl local{};
  local.nl_family = AF_NETLINK;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0) return errno;
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kRouteSilence, sizeof kRouteSilence);
  socket_ = std::move(fd);
  return 0;
}

void NeighbourReader::find(const std::string& netdev, const NeighbourPort& port, int depth, NeighbourReading& into) const {
  if (into.truncated) return;
  auto& known = into.interfaces;
  const auto directory = "class/net/" + netdev;
  const auto text = read_file(root_.get(), directory + "/ifindex");
  const auto index = text ? parse_number(*text) : std::nullopt;
  if (!index || *index == 0 || *index > INT32_MAX) return;
  const auto same = [&](const NeighbourInterface& one) { return one.index == *index && one.of == port; };
  if (std::any_of(known.begin(), known.end(), same)) return;
  into.truncated = known.size() >= kMostInterfaces;
  if (into.truncated) return;
  known.push_back({static_cast<std::uint32_t>(*index), netdev, port});
  if (depth == kMostAbove) return;
  const auto names = list_dir(root_.get(), directory);
  if (!names) return;
  constexpr std::string_view kUpper = "upper_";
  for (const auto& name : *names)
    if (name.starts_with(kUpper)) find(name.substr(kUpper.size()), port, depth + 1, into);
}

int NeighbourReader::dump(std::uint32_t index, NeighbourReading& into) {
  const auto request = rtneigh::dump_request(++sequence_, index);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (sendto(socket_.get(), request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) return errno;
  std::vector<std::byte> datagram(kRouteDatagram);
  while (true) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof from;
    const auto length = recvfrom(socket_.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_size);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return errno == EAGAIN ? ETIMEDOUT : errno;
    if (from.nl_pid != 0) continue;  // not the kernel
    // An old kernel that does not sort by device tells all there are.
    const auto progress = rtneigh::for_each(
        std::span(datagram).first(static_cast<std::size_t>(length)), sequence_, [index](std::uint32_t of) { return of == index; },
        [&](rtneigh::Change change) {
          if (change.gone) return;
          if (into.entries.size() < kMostNeighbours)
            into.entries.push_back(std::move(change.entry));
          else
            into.truncated = true;
        });
    if (!progress) return progress.error().code;
    if (*progress == rtneigh::Progress::done) return 0;
  }
}

NeighbourReading NeighbourReader::read(const std::vector<NeighbourPort>& ports) {
  NeighbourReading reading;
  reading.error = open();
  if (reading.error != 0) return reading;
  for (const auto& port : ports) find(port.netdev, port, 0, reading);
  std::vector<std::uint32_t> indexes;
  for (const auto& one : reading.interfaces)
    if (std::find(indexes.begin(), indexes.end(), one.index) == indexes.end()) indexes.push_back(one.index);
  for (const auto index : indexes) {
    reading.error = dump(index, reading);
    if (reading.error == 0) continue;
    socket_.reset();  // what is left of the answer is not worth the wait
    break;
  }
  return reading;
}

Result<KernelListener> listen_for_neighbours(Reactor& reactor, std::function<bool(std::uint32_t)> wanted, std::function<void(const rtneigh::Change&)> hear,
                                             std::function<void()> lost) {
  return KernelListener::open(
      reactor, {NETLINK_ROUTE, RTMGRP_NEIGH, "route netlink"},
      [wanted = std::move(wanted), hear = std::move(hear)](std::span<const std::byte> message) {
        // What is broken in a message concerns that one alone.
        [[maybe_unused]] const auto heard = rtneigh::for_each(message, std::nullopt, wanted, hear);
      },
      [lost = std::move(lost)](int fd) {
        drop_all(fd);
        lost();
      });
}

}  // namespace rdmend::sources
