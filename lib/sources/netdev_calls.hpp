// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace rdmend::sources {

// Priority flow control as DCB counts it, a count a priority (struct ieee_pfc).
struct PfcCounts {
  std::array<std::uint64_t, 8> requests{}, indications{};  // frames sent, frames received
};

// What a port's network device is asked for. All of it may block: the kernel takes the lock of all network configuration.
class NetdevCalls {
 public:
  virtual ~NetdevCalls() = default;
  // The names of the driver's statistics ("ethtool -S").
  virtual Result<std::vector<std::string>> statistics_names(const std::string& netdev) = 0;
  // Their values, in the order of the names.
  virtual Result<std::vector<std::uint64_t>> statistics(const std::string& netdev) = 0;
  virtual Result<PfcCounts> pfc(const std::string& netdev) = 0;
};
std::unique_ptr<NetdevCalls> kernel_netdev_calls();

inline constexpr std::size_t kMostStatistics = 16'384;

// DCB_CMD_IEEE_GET: bytes <-> model, no socket.
namespace dcb {
std::vector<std::byte> encode_request(const std::string& netdev, std::uint32_t sequence);
// The answer to `sequence`; its error is the result's.
Result<PfcCounts> decode_answer(std::span<const std::byte> datagram, std::uint32_t sequence);
}  // namespace dcb

}  // namespace rdmend::sources
