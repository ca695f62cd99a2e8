# SPDX-License-Identifier: Apache-2.0
# The whole daemon on this machine: no RDMA, the devices are a tree of files.
rdmend_test(e2e_daemon SOURCES daemon_test.cpp disk_test.cpp LINKS nlohmann_json::nlohmann_json rdmend_base LABELS e2e TIMEOUT 600)
add_dependencies(e2e_daemon rdmend rdmendctl rdmend-hand)
rdmend_test(e2e_http SOURCES hostile_test.cpp http_test.cpp node_exporter_test.cpp LINKS nlohmann_json::nlohmann_json rdmend_base PkgConfig::GNUTLS LABELS e2e TIMEOUT 600)
add_dependencies(e2e_http rdmend rdmendctl)
# Goes into network namespaces of its own.
rdmend_test(e2e_neighbours SOURCES neighbours_test.cpp LINKS rdmend_daemon rdmend_hand_netlink LABELS e2e)
