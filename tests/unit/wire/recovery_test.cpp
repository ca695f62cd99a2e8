// SPDX-License-Identifier: Apache-2.0
#include "wire/recovery.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using namespace rdmend;
using namespace rdmend::wire;

namespace {

using Packet = std::vector<std::byte>;

RecoveryMessage recovery_message() {
  RecoveryMessage m;
  for (std::size_t i = 0; i < 16; ++i) {
    m.from.gid[i] = static_cast<std::uint8_t>(i);
    m.to.gid[i] = static_cast<std::uint8_t>(200 + i);
  }
  m.from.qpn = 0xfffffe;
  m.to.qpn = 17;
  m.to_incarnation = 0x1122334455667788;
  m.state.incarnation = 0x99aabbccddeeff00;
  m.state.generation = 0xfffffffe;
  m.state.phase = RecoveryPhase::known;
  m.state.cause = RecoveryCause::receiver_not_ready;
  m.state.verdict = RecoveryVerdict::no;
  m.state.refusal = RecoveryRefusal::begun_receive;
  m.state.expected = {7, 0xffffff, true};
  m.state.expected_before = {5, 0x123456, false};
  m.state.new_psn = 0xabcdef;
  m.state.receives = 70'000;
  m.state.begun = true;
  return m;
}

std::string answer(const Packet& packet) {
  const auto decoded = decode_recovery(packet);
  return decoded ? "decoded" : decoded.error().message;
}

}  // namespace

TEST_CASE("a recovery message comes out as it went in") {
  const auto packet = encode(recovery_message());
  CHECK(packet.size() == kRecoveryBytes);
  const auto decoded = decode_recovery(packet);
  REQUIRE(decoded);
  CHECK(*decoded == recovery_message());
}

TEST_CASE("a recovery message's bytes are fixed") {
  RecoveryMessage m;
  m.from.gid.fill(0xaa);
  m.from.qpn = 0x030201;
  m.to.gid.fill(0xbb);
  m.to.qpn = 4;
  m.to_incarnation = 5;
  m.state = {6, 7, RecoveryPhase::built, RecoveryCause::joined, RecoveryVerdict::yes, RecoveryRefusal::none, {8, 9, true}, {10, 11, false}, 12, 13, true};
  std::vector<int> expected{1, 0, 1, 0, 99, 0, 0, 0};
  expected.insert(expected.end(), 16, 0xaa);
  expected.insert(expected.end(), {1, 2, 3, 0});
  expected.insert(expected.end(), 16, 0xbb);
  expected.insert(expected.end(), {4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3, 3, 1, 0});
  expected.insert(expected.end(), {8, 0, 0, 0, 9, 0, 0, 0, 1, 10, 0, 0, 0, 11, 0, 0, 0, 0, 12, 0, 0, 0, 13, 0, 0, 0, 1});
  const auto packet = encode(m);
  REQUIRE(packet.size() == expected.size());
  CHECK(std::equal(packet.begin(), packet.end(), expected.begin(), [](std::byte b, int v) { return std::to_integer<int>(b) == v; }));
}

TEST_CASE("every truncation and extension of a recovery message is refused") {
  const auto whole = encode(recovery_message());
  for (std::size_t size = 0; size < 3 * whole.size(); ++size) {
    if (size == whole.size()) continue;
    auto packet = whole;
    packet.resize(size);
    CHECK_FALSE(decode_recovery(packet));
    // The same when the length agrees with the packet.
    for (std::size_t i = 0; i < 4 && size >= 8; ++i) packet[4 + i] = static_cast<std::byte>(size >> (8 * i));
    CHECK_FALSE(decode_recovery(packet));
  }
}

TEST_CASE("a recovery message that is not ours says why") {
  auto packet = encode(recovery_message());
  SECTION("another version") {
    packet[0] = std::byte{2};
    CHECK(answer(packet) == "version 2 of the recovery messages is not known, only 1 is");
  }
  SECTION("another type") {
    packet[2] = std::byte{9};
    CHECK(answer(packet) == "a recovery message of type 9 is not known");
  }
  SECTION("a length that lies") {
    packet[4] = std::byte{100};
    CHECK(answer(packet) == "a recovery message has 99 bytes; this one says 100 and has 99");
  }
  SECTION("nothing at all") { CHECK(answer({}) == "a packet of 0 bytes is no message"); }
}

TEST_CASE("values that a recovery message cannot have are refused") {
  const auto whole = encode(recovery_message());
  // Where, and the first value that is too large: QPNs and PSNs have 24 bit, enumerations end, a bool is 0 or 1.
  const std::vector<std::pair<std::size_t, int>> faults{{27, 1}, {47, 1}, {68, 5}, {69, 12}, {70, 3}, {71, 8}, {79, 1}, {80, 2}, {88, 1}, {89, 2}, {93, 1}, {98, 2}};
  for (const auto& [at, value] : faults) {
    INFO("byte " << at);
    auto packet = whole;
    packet[at] = static_cast<std::byte>(value);
    CHECK(answer(packet) == "the recovery message is malformed");
  }
}

TEST_CASE("whatever decodes from a damaged recovery message encodes to the same bytes again") {
  std::mt19937 random(4);  // NOLINT(cert-msc51-cpp): the same cases each run
  const auto whole = encode(recovery_message());
  std::size_t survived = 0;
  for (int round = 0; round < 100'000; ++round) {
    auto packet = whole;
    for (auto hits = 1 + random() % 3; hits > 0; --hits) packet[random() % packet.size()] = static_cast<std::byte>(random());
    const auto decoded = decode_recovery(packet);
    if (!decoded) continue;
    ++survived;
    REQUIRE(encode(*decoded) == packet);
  }
  CHECK(survived > 10'000);
}
