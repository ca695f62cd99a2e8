// SPDX-License-Identifier: Apache-2.0
// A hand for the tests of its client, on machines without RDMA: what it does is the name of the device that it is asked about.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "wire/hand.hpp"

int main() {
  using namespace rdmend;
  static std::array<std::byte, wire::kHandMostBytes> buffer;
  while (true) {
    const auto got = recv(3, buffer.data(), buffer.size(), 0);
    if (got <= 0) return 0;
    const auto request = wire::decode_request(std::span(buffer).first(static_cast<std::size_t>(got)));
    if (!request) return 7;
    if (request->device == "exit") return 5;
    if (request->device == "die") raise(SIGKILL);
    if (request->device == "hang") pause();
    wire::HandReply reply;
    reply.id = request->id;
    if (request->device == "other") reply.id += 1;
    if (request->device == "refuse") reply.error = "not here";
    for (const auto& qp : request->qps) {
      reply.qps.emplace_back();
      reply.qps.back().qpn = qp.qpn;
      reply.qps.back().tgid = static_cast<std::uint32_t>(getpid());
    }
    auto packet = *wire::encode(reply);
    if (request->device == "garbage") packet[0] = std::byte{99};
    send(3, packet.data(), packet.size(), 0);
  }
}
