// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "sources/counter_dir.hpp"
#include "sources/patience.hpp"

namespace rdmend::sources {

// What ports/<p>/ says of a port. What could not be read is absent; it hides nothing else.
struct PortAttributes {
  std::optional<std::uint64_t> state;           // InfiniBand's number: 1 DOWN .. 4 ACTIVE
  std::optional<std::uint64_t> physical_state;  // 3 Disabled, 5 LinkUp, ...
  std::optional<double> rate;                   // bytes per second
  std::optional<std::uint64_t> lid, sm_lid;     // InfiniBand only
  std::string link_layer;
  std::vector<ReadFault> faults;
};

// The number before the colon of "4: ACTIVE".
std::optional<std::uint64_t> parse_state(std::string_view text);
// "400 Gb/sec (4X NDR)" and "2.5 Gb/sec (1X SDR)" in bytes per second.
std::optional<double> parse_rate(std::string_view text);

// Reads the attributes of one port through kept descriptors; each is one ib_query_port in the kernel. What fails is asked
// again as Patience says.
class PortAttributeReader {
 public:
  explicit PortAttributeReader(const std::string& port);
  PortAttributes read(int device_dir, Instant now);

 private:
  struct File {
    explicit File(std::string path) : file(std::move(path)) {}
    KeptFile file;
    Patience patience{};
  };
  static std::optional<std::string> get(File& file, int device_dir, Instant now, PortAttributes& into);
  File state_, physical_state_, rate_, link_layer_, lid_, sm_lid_;
};

}  // namespace rdmend::sources
