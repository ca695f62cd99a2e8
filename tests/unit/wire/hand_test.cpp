// SPDX-License-Identifier: Apache-2.0
#include "wire/hand.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace rdmend;
using namespace rdmend::wire;

namespace {

using Bytes = std::vector<std::byte>;

QpAttributes attributes() {
  QpAttributes a;
  a.state = 3;
  a.port = 1;
  a.path_mtu = 3;
  a.timeout = 14;
  a.retry_cnt = 7;
  a.rnr_retry = 6;
  a.min_rnr_timer = 12;
  a.path_mig_state = 1;
  a.dest_qpn = 0xfffffe;
  a.rq_psn = 0xabcdef;
  a.sq_psn = 0x123456;
  for (std::size_t i = 0; i < 16; ++i) a.remote_gid[i] = static_cast<std::uint8_t>(i + 240);
  a.global = true;
  return a;
}

HandRequest request() {
  HandRequest r;
  r.kind = HandRequest::Kind::modify_min_rnr_timer;
  r.id = 0xfedcba98;
  r.device_index = 7;
  r.device = "rxe1";
  HandQp qp;
  qp.qpn = 17;
  qp.pid = 4242;
  qp.remote_qpn = 18;
  qp.state = 3;
  qp.rq_psn = 0xffffff;
  qp.sq_psn = 1;
  qp.expected = attributes();
  qp.new_min_rnr_timer = 20;
  r.qps.push_back(qp);
  qp.expected.reset();
  qp.qpn = 19;
  r.qps.push_back(qp);
  return r;
}

HandReply reply() {
  HandReply r;
  r.id = 5;
  r.error = "";
  r.held_nanoseconds = 1'234'567'890'123;
  HandQpReply qp;
  qp.qpn = 17;
  qp.tgid = 4200;
  qp.before = attributes();
  qp.after = attributes();
  qp.after->min_rnr_timer = 20;
  r.qps.push_back(qp);
  qp = {};
  qp.qpn = 19;
  qp.error = "QP 19 has gone";
  r.qps.push_back(qp);
  return r;
}

std::string message(const Bytes& packet) {
  const auto decoded = decode_request(packet);
  return decoded ? "decoded" : decoded.error().message;
}

}  // namespace

TEST_CASE("a request comes out as it went in") {
  const auto packet = encode(request());
  REQUIRE(packet);
  const auto decoded = decode_request(*packet);
  REQUIRE(decoded);
  CHECK(*decoded == request());
}

TEST_CASE("a reply comes out as it went in") {
  const auto packet = encode(reply());
  REQUIRE(packet);
  const auto decoded = decode_reply(*packet);
  REQUIRE(decoded);
  CHECK(*decoded == reply());
}

TEST_CASE("the bytes are fixed: version, type and length first, little-endian") {
  HandRequest r;
  r.kind = HandRequest::Kind::probe;
  r.id = 0x04030201;
  r.device_index = 9;
  r.device = "ab";
  const Bytes expected = [] {
    Bytes bytes;
    for (const int b : {1, 0, 1, 0, 23, 0, 0, 0, 3, 1, 2, 3, 4, 9, 0, 0, 0, 2, 0, 0x61, 0x62, 0, 0}) bytes.push_back(static_cast<std::byte>(b));
    return bytes;
  }();
  CHECK(*encode(r) == expected);
}

TEST_CASE("neighbours are asked for and told, in their own kinds of request alone") {
  HandRequest asked;
  asked.kind = HandRequest::Kind::refresh_neighbours;
  asked.id = 3;
  asked.neighbours = {{7, false, {10, 0, 0, 1}}, {8, true, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}}};
  const auto packet = *encode(asked);
  REQUIRE(decode_request(packet));
  CHECK(*decode_request(packet) == asked);
  for (std::size_t size = 0; size < packet.size(); ++size) CHECK_FALSE(decode_request(std::span(packet).first(size)));
  HandReply told;
  told.neighbours = {{0x20, ""}, {0, "there is no such entry any more"}};
  const auto answer = *encode(told);
  REQUIRE(decode_reply(answer));
  CHECK(*decode_reply(answer) == told);

  auto other = asked;
  other.kind = HandRequest::Kind::probe;
  CHECK(encode(other).error().message == "2 neighbours in one request, at most 0 are allowed");
  other = asked;
  other.neighbours.resize(kHandMostNeighbours + 1);
  CHECK(encode(other).error().message == "65 neighbours in one request, at most 64 are allowed");
  other = asked;
  other.neighbours[0].interface_index = 0;
  CHECK(message(*encode(other)) == "the message is malformed");
  other = asked;
  other.neighbours[0].address[4] = 1;  // of an IPv4 address
  CHECK(message(*encode(other)) == "the message is malformed");
}

TEST_CASE("every truncation and every extension of a message is refused") {
  const auto asked = *encode(request());
  const auto answered = *encode(reply());
  for (std::size_t size = 0; size < asked.size(); ++size) CHECK_FALSE(decode_request(std::span(asked).first(size)));
  for (std::size_t size = 0; size < answered.size(); ++size) CHECK_FALSE(decode_reply(std::span(answered).first(size)));

  // The same with a length that agrees with the packet: the fields themselves must not fit.
  const auto resized = [](Bytes packet, std::size_t size) {
    packet.resize(size);
    for (std::size_t i = 0; i < 4; ++i) packet[4 + i] = static_cast<std::byte>(size >> (8 * i));
    return packet;
  };
  for (std::size_t size = 8; size < asked.size(); ++size) CHECK_FALSE(decode_request(resized(asked, size)));
  for (std::size_t size = 8; size < answered.size(); ++size) CHECK_FALSE(decode_reply(resized(answered, size)));
  for (std::size_t more = 1; more < 70; ++more) {
    CHECK(message(resized(asked, asked.size() + more)) == "the message is malformed");
    CHECK_FALSE(decode_reply(resized(answered, answered.size() + more)));
  }
}

TEST_CASE("a message that is not ours says why") {
  auto packet = *encode(request());
  SECTION("another version") {
    packet[0] = std::byte{2};
    CHECK(message(packet) == "version 2 of the messages is not known, only 1 is");
  }
  SECTION("a reply where a request is due") { CHECK(message(*encode(reply())) == "a message of type 2 was not expected"); }
  SECTION("a length that lies") {
    packet[4] ^= std::byte{1};
    CHECK(message(packet) == "the message says it has 109 bytes, the packet has 108");
  }
  SECTION("an unknown kind") {
    packet[8] = std::byte{6};
    CHECK(message(packet) == "a request of kind 6 is not known");
  }
  SECTION("nothing at all") { CHECK(message({}) == "a packet of 0 bytes is no message"); }
  SECTION("too much") { CHECK(message(Bytes(kHandMostBytes + 1)) == "a packet of 196609 bytes is no message"); }
}

TEST_CASE("values that cannot be are refused") {
  auto r = request();
  SECTION("a QP number of 25 bits") { r.qps[0].qpn = 0x1000000; }
  SECTION("a PSN of 25 bits") { r.qps[0].rq_psn = 0x1000000; }
  SECTION("a timer code of 6 bits") { r.qps[0].new_min_rnr_timer = 32; }
  CHECK(message(*encode(r)) == "the message is malformed");
}

TEST_CASE("the caps hold on both sides") {
  auto r = request();
  r.qps.resize(kHandMostQps, r.qps[0]);
  REQUIRE(encode(r));
  CHECK(decode_request(*encode(r))->qps.size() == kHandMostQps);
  r.qps.resize(kHandMostQps + 1);
  CHECK(encode(r).error().message == "513 QPs in one request, at most 512 are allowed");
  r.qps.clear();
  r.device = std::string(65, 'x');
  CHECK(encode(r).error().message == "that is no device's name");
  r.device = "../../etc";
  CHECK_FALSE(encode(r));

  auto full = reply();
  full.error = std::string(10'000, 'e');
  full.qps[1].error = std::string(10'000, 'q');
  full.qps[1].before = full.qps[1].after = attributes();
  full.qps.resize(kHandMostQps, full.qps[1]);
  const auto packet = encode(full);
  REQUIRE(packet);
  CHECK(packet->size() <= kHandMostBytes);
  const auto decoded = decode_reply(*packet);
  REQUIRE(decoded);
  CHECK(decoded->error == std::string(kHandMostError, 'e'));
  CHECK(decoded->qps.back().error == std::string(kHandMostError, 'q'));
}

TEST_CASE("a count that the bytes cannot hold costs no memory") {
  HandRequest r;
  r.device = "rxe1";
  auto packet = *encode(r);
  packet[packet.size() - 2] = std::byte{0xff};
  packet[packet.size() - 1] = std::byte{0x01};
  CHECK(message(packet) == "the message is malformed");
  packet[packet.size() - 1] = std::byte{0xff};
  CHECK(message(packet) == "the message is malformed");
}

TEST_CASE("whatever decodes from damaged bytes encodes to the same bytes again") {
  std::mt19937 random(20'24);  // NOLINT(cert-msc51-cpp): the same cases each run
  const auto asked = *encode(request());
  const auto answered = *encode(reply());
  std::size_t survived = 0;
  for (int round = 0; round < 200'000; ++round) {
    auto packet = round % 2 == 0 ? asked : answered;
    for (auto hits = 1 + random() % 4; hits > 0; --hits) packet[random() % packet.size()] = static_cast<std::byte>(random());
    if (const auto r = decode_request(packet)) {
      ++survived;
      REQUIRE(*encode(*r) == packet);
    }
    if (const auto r = decode_reply(packet)) {
      ++survived;
      REQUIRE(*encode(*r) == packet);
    }
  }
  CHECK(survived > 1000);
}

TEST_CASE("random bytes never decode by luck into more than they hold") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp)
  for (int round = 0; round < 100'000; ++round) {
    Bytes packet(random() % 400);
    for (auto& byte : packet) byte = static_cast<std::byte>(random());
    if (packet.size() >= 8) {
      const Bytes head{std::byte{1}, std::byte{0}, static_cast<std::byte>(1 + round % 2), std::byte{0}};
      std::copy(head.begin(), head.end(), packet.begin());
      for (std::size_t i = 0; i < 4; ++i) packet[4 + i] = static_cast<std::byte>(packet.size() >> (8 * i));
    }
    if (const auto r = decode_request(packet)) REQUIRE(r->qps.size() * 23 <= packet.size());
    if (const auto r = decode_reply(packet)) REQUIRE(r->qps.size() * 12 <= packet.size());
  }
}
