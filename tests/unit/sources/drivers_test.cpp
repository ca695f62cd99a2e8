// SPDX-License-Identifier: Apache-2.0
#include "sources/drivers.hpp"

#include <rdma/ib_user_ioctl_verbs.h>

#include <catch2/catch.hpp>

#include "sources/discovery.hpp"
#include "sources/sysfs.hpp"
#include "support/tree.hpp"

using namespace rdmend;
using namespace rdmend::sources;

TEST_CASE("drivers are known by number, by module and by what only they count") {
  CHECK(driver_of_id(RDMA_DRIVER_RXE) == Driver::rxe);
  CHECK(driver_of_id(RDMA_DRIVER_MLX5) == Driver::mlx5);
  CHECK(driver_of_id(0) == Driver::unknown);
  CHECK(driver_of_id(4711) == Driver::unknown);
  CHECK(driver_of_module("mlx5_core") == Driver::mlx5);
  CHECK(driver_of_module("ice") == Driver::irdma);
  CHECK(driver_of_module("virtio_net") == Driver::unknown);
  CHECK(driver_of_module("") == Driver::unknown);
  CHECK(driver_of_counter("completer_retry_err") == Driver::rxe);
  CHECK(driver_of_counter("duplicate_request") == Driver::unknown);
  CHECK(driver_name(Driver::bnxt_re) == "bnxt_re");
}

TEST_CASE("widths follow the tables of the drivers") {
  CHECK(counter_width(Driver::mlx5, Source::netlink, "packet_seq_err").bits == 32);
  CHECK_FALSE(counter_width(Driver::mlx5, Source::netlink, "packet_seq_err").saturates);
  CHECK(counter_width(Driver::mlx5, Source::netlink, "np_cnp_sent").bits == 64);
  CHECK(counter_width(Driver::mlx4, Source::hw_counters, "anything").bits == 32);
  CHECK(counter_width(Driver::rxe, Source::netlink, "packet_seq_err").bits == 64);
  CHECK(counter_width(Driver::mlx5, Source::counters, "port_xmit_data").bits == 64);
  CHECK_FALSE(counter_width(Driver::mlx5, Source::counters, "port_xmit_data").saturates);
  CHECK(counter_width(Driver::hfi1, Source::counters, "local_link_integrity_errors").largest() == 15);
  CHECK(counter_width(Driver::mlx5, Source::netdev, "link_downed").bits == 64);
}

TEST_CASE("a device's driver is found in a tree without a kernel") {
  const test::Tree tree;
  tree.files("nic", {{"fw_ver", "28.39.1002"}, {"node_guid", "b8ce:f603:0000:1000"}});
  tree.files("nic/ports/1", {});
  tree.files("nic/ports/10", {});
  tree.files("nic/ports/junk", {});
  tree.files("0000:3b:00.0", {});
  tree.link("0000:3b:00.0/driver", "../../../bus/pci/drivers/mlx5_core");
  tree.link("nic/device", "../0000:3b:00.0");
  const auto dir = open_dir(AT_FDCWD, tree.at("nic"));
  const auto identity = identify(dir->get(), nullptr, {.name = "mlx5_0"});
  CHECK(identity.driver == Driver::mlx5);
  CHECK(identity.firmware == "28.39.1002");
  CHECK(identity.node_guid == "b8ce:f603:0000:1000");
  CHECK(identity.pci == "0000:3b:00.0");
  CHECK(identity.ports == std::vector<std::string>{"1", "10"});

  // Soft-RoCE on that NIC has the NIC as its parent, and says so.
  tree.file("nic/parent", "eth0");
  CHECK(identify(dir->get(), nullptr, {.name = "rxe0"}).driver == Driver::rxe);

  tree.files("soft/ports/1/hw_counters", {{"completer_retry_err", "0"}});
  CHECK(identify(open_dir(AT_FDCWD, tree.at("soft"))->get(), nullptr, {.name = "any"}).driver == Driver::rxe);
  tree.files("bare", {});
  CHECK(identify(open_dir(AT_FDCWD, tree.at("bare"))->get(), nullptr, {.name = "any"}).driver == Driver::unknown);
}
