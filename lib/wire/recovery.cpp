// SPDX-License-Identifier: Apache-2.0
#include "wire/recovery.hpp"

#include <fmt/format.h>

#include "wire/bytes.hpp"

namespace rdmend::wire {
namespace {

constexpr std::uint16_t kRecoveryType = 1;
constexpr std::uint32_t kRecoveryMost24 = 0xffffff;

void put_end(Writer& out, const RecoveryEnd& end) {
  out.put_bytes(end.gid);
  out.put(end.qpn);
}

void put_psn(Writer& out, const RecoveryPsn& psn) {
  out.put(psn.life);
  out.put(psn.psn);
  out.put_bool(psn.live);
}

// A number of 24 bit, which QPNs and PSNs are.
std::uint32_t get_24(Reader& in) {
  const auto value = in.get<std::uint32_t>();
  if (value > kRecoveryMost24) in.fail();
  return value;
}

RecoveryEnd get_end(Reader& in) {
  RecoveryEnd end;
  in.get_bytes(end.gid);
  end.qpn = get_24(in);
  return end;
}

RecoveryPsn get_psn(Reader& in) {
  RecoveryPsn psn;
  psn.life = in.get<std::uint32_t>();
  psn.psn = get_24(in);
  psn.live = in.get_bool();
  return psn;
}

template <class E>
E get_enum(Reader& in, E last) {
  const auto value = in.get<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return static_cast<E>(value);
}

RecoveryState get_state(Reader& in) {
  RecoveryState state;
  state.incarnation = in.get<std::uint64_t>();
  state.generation = in.get<std::uint32_t>();
  state.phase = get_enum(in, RecoveryPhase::ended);
  state.cause = get_enum(in, RecoveryCause::not_agreed);
  state.verdict = get_enum(in, RecoveryVerdict::no);
  state.refusal = get_enum(in, RecoveryRefusal::begun_receive);
  state.expected = get_psn(in);
  state.expected_before = get_psn(in);
  state.new_psn = get_24(in);
  state.receives = in.get<std::uint32_t>();
  state.begun = in.get_bool();
  return state;
}

}  // namespace

std::vector<std::byte> encode(const RecoveryMessage& message) {
  Writer out;
  out.put(kRecoveryVersion);
  out.put(kRecoveryType);
  out.put(static_cast<std::uint32_t>(kRecoveryBytes));
  put_end(out, message.from);
  put_end(out, message.to);
  out.put(message.to_incarnation);
  const auto& state = message.state;
  out.put(state.incarnation);
  out.put(state.generation);
  out.put(static_cast<std::uint8_t>(state.phase));
  out.put(static_cast<std::uint8_t>(state.cause));
  out.put(static_cast<std::uint8_t>(state.verdict));
  out.put(static_cast<std::uint8_t>(state.refusal));
  put_psn(out, state.expected);
  put_psn(out, state.expected_before);
  out.put(state.new_psn);
  out.put(state.receives);
  out.put_bool(state.begun);
  return out.take();
}

Result<RecoveryMessage> decode_recovery(std::span<const std::byte> packet) {
  Reader in(packet);
  if (packet.size() < 8) return Error{fmt::format("a packet of {} bytes is no message", packet.size())};
  if (const auto version = in.get<std::uint16_t>(); version != kRecoveryVersion)
    return Error{fmt::format("version {} of the recovery messages is not known, only {} is", version, kRecoveryVersion)};
  if (const auto type = in.get<std::uint16_t>(); type != kRecoveryType) return Error{fmt::format("a recovery message of type {} is not known", type)};
  if (const auto length = in.get<std::uint32_t>(); length != packet.size() || length != kRecoveryBytes)
    return Error{fmt::format("a recovery message has {} bytes; this one says {} and has {}", kRecoveryBytes, length, packet.size())};
  RecoveryMessage message;
  message.from = get_end(in);
  message.to = get_end(in);
  message.to_incarnation = in.get<std::uint64_t>();
  message.state = get_state(in);
  if (in.failed() || in.left() > 0) return Error{"the recovery message is malformed"};
  return message;
}

}  // namespace rdmend::wire
