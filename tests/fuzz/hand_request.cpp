// SPDX-License-Identifier: Apache-2.0
// What rdmend-hand reads from its parent: what is accepted is the one encoding of what it means.
#include <algorithm>

#include "fuzz/entry.hpp"
#include "wire/hand.hpp"

using namespace rdmend;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span packet{reinterpret_cast<const std::byte*>(data), size};
  const auto request = wire::decode_request(packet);
  if (!request) return 0;
  fuzz::demand(request->qps.size() <= wire::kHandMostQps, "the list is capped");
  fuzz::demand(request->neighbours.size() <= wire::kHandMostNeighbours, "the list of neighbours is capped");
  const auto encoded = wire::encode(*request);
  fuzz::demand(encoded && std::ranges::equal(*encoded, packet), "decoded and encoded again it is the same packet");
  return 0;
}
