// SPDX-License-Identifier: Apache-2.0
#include "rdmend/hand_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <optional>

#include "base/unique_fd.hpp"
#include "rdmend/loop.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  Loop loop;
  HandClient client{loop, FAKE_HAND, 10ms};

  Fixture() { client.start(); }
  std::string ask(const std::string& device, milliseconds deadline = 5s, std::size_t qps = 2) {
    std::optional<std::string> answer;
    post(device, deadline, qps, answer);
    loop.run_until([&] { return answer.has_value(); }, 10s);
    return answer.value_or("never");
  }
  void post(const std::string& device, milliseconds deadline, std::size_t qps, std::optional<std::string>& answer) {
    wire::HandRequest request;
    request.device = device;
    for (std::size_t i = 0; i < qps; ++i) {
      request.qps.emplace_back();
      request.qps.back().qpn = static_cast<std::uint32_t>(i);
      request.qps.back().pid = static_cast<std::uint32_t>(i % 3);
    }
    client.request(std::move(request), deadline, [&](Result<wire::HandReply> reply) {
      REQUIRE_FALSE(answer.has_value());
      answer = !reply ? reply.error().message : !reply->error.empty() ? "refused: " + reply->error : std::to_string(reply->qps.size()) + " QPs";
    });
  }
  bool back(milliseconds bound = 5s) {
    return loop.run_until([&] { return client.unavailable().empty(); }, bound);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a request is answered, one after the other") {
  CHECK(client.unavailable().empty());
  CHECK(ask("rxe1") == "2 QPs");
  CHECK(ask("refuse") == "refused: not here");
  std::optional<std::string> first, second, third;
  post("rxe1", 5s, 1, first);
  post("rxe1", 5s, 2, second);
  post("rxe1", 5s, 3, third);
  CHECK(loop.run_until([&] { return third.has_value(); }, 5s));
  CHECK(first == "1 QPs");
  CHECK(second == "2 QPs");
  CHECK(third == "3 QPs");
}

TEST_CASE_METHOD(Fixture, "a request that is too large for a packet is asked in parts") {
  CHECK(ask("rxe1", 5s, 5 * wire::kHandMostQps + 1) == "2561 QPs");
  CHECK(ask("refuse", 5s, wire::kHandMostQps + 1) == "refused: not here");
}

TEST_CASE_METHOD(Fixture, "a hand that dies is replaced, and its caller told how it ended") {
  CHECK(ask("die") == "rdmend-hand was killed by signal 9 (Killed)");
  CHECK(client.unavailable() == "rdmend-hand was killed by signal 9 (Killed)");
  CHECK(ask("rxe1") == "rdmend-hand was killed by signal 9 (Killed)");
  REQUIRE(back());
  CHECK(ask("rxe1") == "2 QPs");
  CHECK(ask("exit") == "rdmend-hand ended with status 5");
  REQUIRE(back());  // an answer in between resets the back-off
  CHECK(ask("rxe1") == "2 QPs");
}

TEST_CASE_METHOD(Fixture, "one that dies while nobody asks is replaced too") {
  CHECK(ask("rxe1") == "2 QPs");
  REQUIRE(client.child() > 0);
  kill(client.child(), SIGKILL);
  CHECK(loop.run_until([&] { return !client.unavailable().empty(); }, 5s));
  REQUIRE(back());
  CHECK(ask("rxe1") == "2 QPs");
}

TEST_CASE_METHOD(Fixture, "a hand that hangs is given up at the deadline and replaced") {
  std::optional<std::string> hangs, waits;
  post("hang", 100ms, 1, hangs);
  post("rxe1", 5s, 1, waits);
  CHECK(loop.run_until([&] { return hangs && waits; }, 5s));
  CHECK(hangs == "rdmend-hand has not answered within 100ms");
  CHECK(waits == "rdmend-hand has not answered within 100ms");
  REQUIRE(back());
  CHECK(ask("rxe1") == "2 QPs");
}

TEST_CASE_METHOD(Fixture, "a request that waits too long behind another fails alone") {
  std::optional<std::string> hangs, waits;
  post("hang", 400ms, 1, hangs);
  post("rxe1", 50ms, 1, waits);
  CHECK(loop.run_until([&] { return waits.has_value(); }, 5s));
  CHECK(waits == "rdmend-hand has not answered within 50ms");
  CHECK_FALSE(hangs.has_value());
  CHECK(loop.run_until([&] { return hangs.has_value(); }, 5s));
}

TEST_CASE_METHOD(Fixture, "nonsense ends the hand") {
  CHECK(ask("garbage") == "rdmend-hand answers nonsense: version 99 of the messages is not known, only 1 is");
  REQUIRE(back());
  CHECK(ask("other") == "rdmend-hand answers what it was not asked");
}

TEST_CASE_METHOD(Fixture, "the queue is bounded") {
  std::vector<std::optional<std::string>> answers(HandClient::kMostWaiting + 2);
  for (auto& answer : answers) post("rxe1", 5s, 1, answer);
  CHECK(loop.run_until([&] { return std::all_of(answers.begin(), answers.end(), [](const auto& a) { return a.has_value(); }); }, 5s));
  CHECK(answers.front() == "1 QPs");
  CHECK(answers[HandClient::kMostWaiting - 1] == "1 QPs");
  CHECK(answers.back() == "too many requests wait for rdmend-hand");
}

TEST_CASE("without a hand it says so, and finds one that comes later") {
  Loop loop;
  HandClient none(loop, "");
  none.start();
  CHECK(none.unavailable() == "acting is not granted: rdmend runs without rdmend-hand");

  const auto link = std::filesystem::temp_directory_path() / ("rdmend-hand-test-" + std::to_string(getpid()));
  std::filesystem::remove(link);
  HandClient client(loop, link, 10ms);
  CHECK(client.unavailable() == "rdmend-hand has not been started");
  client.start();
  CHECK(client.unavailable() == "acting is not granted: " + link.string() + ": No such file or directory");
  std::filesystem::create_symlink(FAKE_HAND, link);
  CHECK(loop.run_until([&] { return client.unavailable().empty(); }, 5s));
  std::filesystem::remove(link);
}

TEST_CASE("a hand behind a socket is spoken to without being a child") {
  Loop loop;
  const auto path = std::filesystem::temp_directory_path() / ("rdmend-hand-test-" + std::to_string(getpid()) + ".sock");
  std::filesystem::remove(path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(listener.get(), 4) == 0);
  HandClient client(loop, path, 10ms);
  client.start();
  CHECK(client.child() == 0);
  UniqueFd served(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(served);

  std::optional<std::string> answer;
  wire::HandRequest request;
  request.device = "rxe1";
  client.request(request, 5s, [&](Result<wire::HandReply> reply) { answer = reply ? "answered" : reply.error().message; });
  std::vector<std::byte> buffer(4096);
  const auto got = recv(served.get(), buffer.data(), buffer.size(), 0);
  REQUIRE(got > 0);
  wire::HandReply reply;
  reply.id = wire::decode_request(std::span(buffer).first(static_cast<std::size_t>(got)))->id;
  const auto packet = *wire::encode(reply);
  REQUIRE(send(served.get(), packet.data(), packet.size(), 0) > 0);
  CHECK(loop.run_until([&] { return answer.has_value(); }, 5s));
  CHECK(answer == "answered");

  served.reset();
  CHECK(loop.run_until([&] { return !client.unavailable().empty(); }, 5s));
  CHECK(client.unavailable() == "rdmend-hand has closed its socket");
  CHECK(loop.run_until([&] { return client.unavailable().empty(); }, 5s));
  std::filesystem::remove(path);
}
