// SPDX-License-Identifier: Apache-2.0
// metrics.node_exporter_names against the real node_exporter, on one tree.
#include <map>
#include <sstream>

#include "e2e/daemon_bench.hpp"

using namespace rdmend::test;

namespace {

// The node_infiniband_* part of a page: "name{labels}" -> value, and "# TYPE name" -> type.
std::map<std::string, std::string> infiniband(const std::string& page) {
  std::map<std::string, std::string> out;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.rfind(' ');
    const bool series = line.starts_with("node_infiniband_");
    if (!series && !line.starts_with("# TYPE node_infiniband_")) continue;
    const auto value = line.substr(space + 1);
    // 9.876543215e+09 and 9876543215 are one value.
    out[line.substr(0, space)] = series ? std::to_string(std::stod(value)) : value;
  }
  return out;
}

// A device whose every counter has a value of its own.
void add_whole(const FakeSysfs& sysfs, const std::string& device, int first) {
  sysfs.add(device);
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text << '\n'; };
  const auto directory = sysfs.root() + "/class/infiniband/" + device;
  write(directory + "/board_id", "MT_0000000838");
  write(directory + "/hca_type", "MT4129");
  for (const char* counter :
       {"VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "local_link_integrity_errors", "multicast_rcv_packets",
        "multicast_xmit_packets", "port_rcv_constraint_errors", "port_rcv_data", "port_rcv_discards", "port_rcv_errors", "port_rcv_packets",
        "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards",
        "port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets"})
    write(sysfs.port(device) + "/counters/" + counter, std::to_string(++first));
}

}  // namespace

TEST_CASE("every series of node_exporter's infiniband collector is there, with its labels, type and value") {
  DaemonBench b;
  std::filesystem::remove_all(b.sysfs.root() + "/class/infiniband");
  std::filesystem::create_directories(b.sysfs.root() + "/class/infiniband");
  add_whole(b.sysfs, "mlx5_0", 1000);
  add_whole(b.sysfs, "mlx5_1", 2000);
  b.sysfs.down("mlx5_1");
  b.configure("metrics: {node_exporter_names: true}\n");
  b.start();
  const auto port = free_port();
  const Child exporter({"prometheus-node-exporter", "--path.sysfs=" + b.sysfs.root(), "--collector.disable-defaults", "--collector.infiniband",
                        "--web.listen-address=127.0.0.1:" + std::to_string(port)},
                       b.scratch / "exporter.log");
  std::string theirs;
  REQUIRE(eventually([&] {
    theirs = run_command("curl -s -m 5 http://127.0.0.1:" + std::to_string(port) + "/metrics").output;
    return has(theirs, "node_infiniband_");
  }));
  const auto wanted = infiniband(theirs);
  REQUIRE(wanted.size() >= 78);
  std::map<std::string, std::string> ours;
  // The counters/ files are read more seldom than the rest.
  CHECK(eventually([&] {
    ours = infiniband(b.get("/metrics"));
    return ours.size() >= wanted.size();
  }));
  for (const auto& [series, value] : wanted) {
    INFO(series);
    CHECK(ours.contains(series));
    CHECK(ours[series] == value);
  }
  CHECK(ours.size() == wanted.size());
  write_file(b.scratch / "metrics", b.get("/metrics"));
  const auto checked = run_command("promtool check metrics < " + (b.scratch / "metrics") + " 2>&1");
  INFO(checked.output);
  CHECK(checked.status == 0);

  b.configure("");
  CHECK(b.ctl("reload").status == 0);
  CHECK(infiniband(b.get("/metrics")).empty());
}
