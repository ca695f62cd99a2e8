// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "sources/drivers.hpp"

namespace rdmend::sources {

// One cell of the one table that maps drivers' names to normalised series. The cell's notation:
//   c:NAME  counters/          i:NAME  counters/, on InfiniBand ports only (they stand at 0 on Ethernet)
//   h:NAME  hw counters        e:NAME  the netdev's driver statistics      n:NAME  the netdev's own
//   d:NAME  DCB
//   a + b   their sum, of those that the device has       a | b   the first that the device has
//   NAME*F  times F            #  in NAME: each priority 0..7, which becomes the label `priority`
struct SignalRow {
  std::string_view series;
  Driver driver;  // Driver::unknown: every driver that has no row of its own for this series
  std::string_view cell;
};
std::span<const SignalRow> signal_table();

}  // namespace rdmend::sources
