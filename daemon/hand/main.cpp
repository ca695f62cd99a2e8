// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "sandbox.hpp"
#include "wire/hand.hpp"
#include "work.hpp"

namespace {

using namespace rdmend;

constexpr int kUsage = 2;
constexpr auto kHelp =
    "usage: rdmend-hand [--fd N]\n"
    "The external hand of rdmend. rdmend or rdmend-hand.socket starts it; people have no use for it.\n"
    "N (3) is a connected SOCK_SEQPACKET socket to rdmend.\n";

// rdmend-hand is started by rdmend or by rdmend-hand.socket, with the socket as descriptor 3.
int descriptor(int count, char** words) {
  if (count == 1) return 3;
  int fd = -1;
  if (count == 3 && std::string_view(words[1]) == "--fd") {
    const std::string_view text = words[2];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
    if (error != std::errc{} || end != text.data() + text.size()) fd = -1;
  }
  return fd;
}

int fail(const Error& error) {
  std::fprintf(stderr, "rdmend-hand: %s\n", error.message.c_str());
  return EXIT_FAILURE;
}

bool is_seqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

wire::HandReply answer(hand::Work& work, std::span<const std::byte> packet) {
  const auto request = wire::decode_request(packet);
  if (request) return work.answer(*request);
  wire::HandReply refused;
  refused.error = request.error().message;
  return refused;
}

// Until the other side closes.
int serve(int socket, hand::Work& work) {
  static std::array<std::byte, wire::kHandMostBytes + 1> buffer;
  while (true) {
    const auto got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return EXIT_SUCCESS;
    if (got < 0) return fail(errno_error("receiving", errno));
    const auto reply = wire::encode(answer(work, std::span(buffer).first(static_cast<std::size_t>(got))));
    if (!reply) return fail(reply.error());
    if (send(socket, reply->data(), reply->size(), MSG_NOSIGNAL) < 0)
      return errno == EPIPE ? EXIT_SUCCESS : fail(errno_error("answering", errno));
  }
}

// What a person may ask of it; nullopt when it is to work.
std::optional<int> answer_person(int count, char** words, int socket) {
  const std::string_view word = count == 2 ? words[1] : "";
  if (word == "--help" || word == "-h") return std::fputs(kHelp, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  if (word == "--version") return std::puts("rdmend-hand " RDMEND_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  if (socket >= 0) return std::nullopt;
  std::fputs(kHelp, stderr);
  return kUsage;
}

}  // namespace

int main(int count, char** words) {
  const int socket = descriptor(count, words);
  if (const auto exit = answer_person(count, words, socket)) return *exit;
  if (!is_seqpacket(socket))
    return fail({"descriptor " + std::to_string(socket) +
                 " is no SOCK_SEQPACKET socket: rdmend or rdmend-hand.socket starts this program"});
  const auto rights = hand::keep_only_what_remedies_need();
  if (!rights) return fail(rights.error());
  auto netlink = hand::RdmaNetlink::open();
  if (!netlink) return fail(netlink.error());
  auto route = hand::RouteNetlink::open(rights->net_admin);
  if (!route) return fail(route.error());
  UniqueFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!proc) return fail(errno_error("/proc", errno));
  if (const auto closed = hand::close_sandbox(); !closed) return fail(closed.error());
  hand::Work work(std::move(*netlink), std::move(*route), std::move(proc));
  const int status = serve(socket, work);
  std::fflush(stderr);
  _exit(status);  // nothing is left to do that the filter would let
}
