// SPDX-License-Identifier: Apache-2.0
// What rdmend reads from rdmend-hand, which speaks for foreign processes' QPs.
#include <algorithm>

#include "fuzz/entry.hpp"
#include "wire/hand.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span packet{reinterpret_cast<const std::byte*>(data), size};
  const auto reply = wire::decode_reply(packet);
  if (!reply) return 0;
  fuzz::demand(reply->qps.size() <= wire::kHandMostQps, "the list is capped");
  const auto encoded = wire::encode(*reply);
  fuzz::demand(encoded && std::ranges::equal(*encoded, packet), "decoded and encoded again it is the same packet");
  return 0;
}
