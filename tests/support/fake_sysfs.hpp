// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

namespace rdmend::test {

// A tree that stands for /sys, with devices as an mlx5 InfiniBand HCA shows them, as far as rdmend reads.
class FakeSysfs {
 public:
  explicit FakeSysfs(std::string root) : root_(std::move(root)) { std::filesystem::create_directories(root_ + "/class/infiniband"); }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string port(const std::string& device) const { return root_ + "/class/infiniband/" + device + "/ports/1"; }
  void add(const std::string& device) const {
    const auto directory = root_ + "/class/infiniband/" + device;
    std::filesystem::create_directories(port(device) + "/hw_counters");
    std::filesystem::create_directories(port(device) + "/counters");
    write(directory + "/node_guid", "b8ce:f603:0000:1000");
    write(directory + "/fw_ver", "28.39.1002");
    write(directory + "/node_type", "1: CA");
    write(port(device) + "/phys_state", "5: LinkUp");
    write(port(device) + "/rate", "400 Gb/sec (4X NDR)");
    write(port(device) + "/link_layer", "InfiniBand");
    write(port(device) + "/hw_counters/rnr_nak_retry_err", "7");
    write(port(device) + "/hw_counters/out_of_sequence", "0");
    write(port(device) + "/hw_counters/lifespan", "10");
    write(port(device) + "/counters/port_xmit_data", "1000");
    write(port(device) + "/counters/port_rcv_data", "1000");
    up(device);
  }
  void up(const std::string& device) const { write(port(device) + "/state", "4: ACTIVE"); }
  void down(const std::string& device) const { write(port(device) + "/state", "1: DOWN"); }

 private:
  // In place, as sysfs is: who keeps the file open reads the new value.
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text << '\n'; }
  std::string root_;
};

}  // namespace rdmend::test
