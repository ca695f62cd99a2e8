// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <thread>

#include "base/unique_fd.hpp"

namespace rdmend::test {

// What is lost between host 1, who asks, and host 2, who answers. A RoCE packet of either direction is lost with its
// probability; after `cut_after` requests have come through, everything is.
struct Loss {
  double request = 0, answer = 0;
  std::uint64_t cut_after = std::numeric_limits<std::uint64_t>::max();
};

// The wire between the guest's two hosts in place of its bridge: a thread that carries the frames of p1 to p2 and back, and
// loses RoCE packets as a seed says. Unlike netem it can be seeded, and it knows what has passed.
class SeededWire {
 public:
  SeededWire() {
    REQUIRE(std::system("ip -n sw link set p1 nomaster && ip -n sw link set p2 nomaster") == 0);  // NOLINT
    std::thread opener([this] { open_ends(); });  // a thread's network namespace is its own
    opener.join();
    REQUIRE((ends_[0] && ends_[1]));
    carrier_ = std::thread([this] { carry(); });
  }
  ~SeededWire() {
    stop_ = true;
    carrier_.join();
  }
  SeededWire(const SeededWire&) = delete;
  SeededWire& operator=(const SeededWire&) = delete;

  void begin(const Loss& loss, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    loss_ = loss;
    random_.seed(seed);
    read_ends_.clear();
    requests_ = 0;
  }
  // Did host 2 send the last packet of the answer to a READ, this being its PSN? Whether it arrived is another matter.
  bool read_answered(std::uint32_t psn) {
    const std::lock_guard lock(mutex_);
    return read_ends_.contains(psn);
  }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }  // that came through to host 2
  [[nodiscard]] std::uint64_t frames() const { return frames_; }      // seen at all

 private:
  static UniqueFd open_end(const char* name) {
    UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
    const int one = 1;
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(name));
    if (!fd || setsockopt(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0 ||
        bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      fd.reset();
    return fd;
  }
  void open_ends() {
    const UniqueFd name_space(open("/var/run/netns/sw", O_RDONLY | O_CLOEXEC));
    if (!name_space || setns(name_space.get(), CLONE_NEWNET) != 0) return;
    ends_[0] = open_end("p1");
    ends_[1] = open_end("p2");
  }
  void carry() {
    std::array<std::uint8_t, 4096> frame;
    while (!stop_) {
      std::array<pollfd, 2> ready{pollfd{ends_[0].get(), POLLIN, 0}, pollfd{ends_[1].get(), POLLIN, 0}};
      poll(ready.data(), ready.size(), 20);
      for (std::size_t from = 0; from < 2; ++from)
        for (ssize_t got; (got = recv(ends_[from].get(), frame.data(), frame.size(), 0)) > 0; ++frames_)
          if (passes(from == 0, std::span(frame).first(static_cast<std::size_t>(got))))
            send(ends_[1 - from].get(), frame.data(), static_cast<std::size_t>(got), 0);
    }
  }
  bool passes(bool asks, std::span<const std::uint8_t> frame) {
    constexpr std::size_t kIp = 14, kUdp = kIp + 20, kBth = kUdp + 8;  // rxe sends IPv4 without options
    if (frame.size() < kBth + 12 || frame[12] != 8 || frame[13] != 0 || frame[kIp + 9] != 17) return true;
    if (frame[kUdp + 2] * 256 + frame[kUdp + 3] != 4791) return true;
    const auto bth = frame.subspan(kBth);
    const auto psn = static_cast<std::uint32_t>(bth[9] << 16 | bth[10] << 8 | bth[11]);
    const std::lock_guard lock(mutex_);
    // RC READ response last (15) and only (16), InfiniBand specification volume 1, table of opcodes.
    if (!asks && (bth[0] == 15 || bth[0] == 16)) read_ends_.insert(psn);
    const bool lost = std::bernoulli_distribution(asks ? loss_.request : loss_.answer)(random_);
    if (lost || requests_ >= loss_.cut_after) return false;
    if (asks) ++requests_;
    return true;
  }

  std::array<UniqueFd, 2> ends_;
  std::mutex mutex_;
  Loss loss_;
  std::mt19937_64 random_;
  std::set<std::uint32_t> read_ends_;
  std::atomic<std::uint64_t> requests_ = 0, frames_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread carrier_;
};

}  // namespace rdmend::test
