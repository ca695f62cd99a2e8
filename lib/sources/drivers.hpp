// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace rdmend::sources {

enum class Driver { unknown, mlx5, mlx4, bnxt_re, irdma, rxe, mana, efa, hns, erdma, hfi1, qib, cxgb4, siw, qedr, ocrdma, mthca, usnic, vmw_pvrdma };

// Where a raw counter was read.
enum class Source { hw_counters, netlink, counters, ethtool, netdev, dcb };
std::string_view source_name(Source source);

std::string_view driver_name(Driver driver);
// enum rdma_driver_id, as the uverbs character device tells it through netlink.
Driver driver_of_id(std::uint64_t id);
// The kernel driver that the device's parent is bound to: "mlx5_core", "ice".
Driver driver_of_module(std::string_view module);
// A counter that only one driver has: the last resort, for a copied tree that has no links.
Driver driver_of_counter(std::string_view name);

// How a raw counter ends: after `bits` bits it begins again at 0, or, where `saturates`, stays at the largest value.
struct Width {
  unsigned bits = 64;
  bool saturates = false;
  [[nodiscard]] std::uint64_t largest() const { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
};
Width counter_width(Driver driver, Source source, std::string_view name);
// Values that can fall without anything being wrong ("active_qps").
bool is_gauge(Driver driver, std::string_view name);

}  // namespace rdmend::sources
