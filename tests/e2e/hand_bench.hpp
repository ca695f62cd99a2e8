// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "e2e/qp_owner.hpp"
#include "rdma_netlink.hpp"
#include "rdmend/hand_client.hpp"
#include "rdmend/loop.hpp"

// What the tests of the real rdmend-hand share.
namespace rdmend::test {

using namespace std::chrono_literals;
using Kind = wire::HandRequest::Kind;

constexpr auto kBound = 30s;

inline std::size_t uverbs_held_by(pid_t pid) {
  std::size_t count = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored))
    if (std::filesystem::read_symlink(entry, ignored).string().find("uverbs") != std::string::npos) ++count;
  return count;
}

// A real client and a real hand; netlink as the daemon's sources read it.
struct HandBench {
  explicit HandBench(std::string program = RDMEND_HAND)
      : client(loop, std::move(program), 20ms), netlink(*hand::RdmaNetlink::open()) {
    client.start();
    for (std::uint32_t i = 0; i < 8; ++i)
      if (auto device = netlink.device(i)) devices[device->name] = *device;
  }

  std::vector<QpInfo> listed(const std::string& device) {
    auto qps = netlink.qps(devices.at(device));
    REQUIRE(qps);
    return std::move(*qps);
  }
  wire::HandRequest about(const std::string& device, const std::set<std::uint32_t>& qpns,
                          Kind kind = Kind::query) {
    wire::HandRequest request;
    request.kind = kind;
    request.device = device;
    request.device_index = devices.at(device).index;
    for (const auto& qp : listed(device))
      if (qpns.contains(qp.qpn)) {
        wire::HandQp asked;
        asked.qpn = qp.qpn;
        asked.pid = qp.pid;
        asked.remote_qpn = qp.remote_qpn.value_or(0);
        asked.state = qp.state;
        request.qps.push_back(asked);
      }
    return request;
  }
  static std::set<std::uint32_t> all(const QpOwner& owner, const std::string& device) {
    std::set<std::uint32_t> out;
    for (const auto& [qpn, timer] : owner.made.at(device)) out.insert(qpn);
    return out;
  }
  std::optional<Result<wire::HandReply>> ask(wire::HandRequest request, milliseconds deadline = 30s) {
    auto answer = std::make_shared<std::optional<Result<wire::HandReply>>>();
    client.request(std::move(request), deadline,
                   [answer](Result<wire::HandReply> reply) { *answer = std::move(reply); });
    loop.run_until([&] { return answer->has_value(); }, kBound + deadline);
    if (answer->has_value() && **answer) held = std::max<std::uint64_t>(held, (**answer)->held_nanoseconds);
    return *answer;
  }
  wire::HandReply must(wire::HandRequest request) {
    auto answer = ask(std::move(request));
    REQUIRE(answer.has_value());
    if (!*answer) FAIL(answer->error().message);
    return **answer;
  }
  std::string error_of(const wire::HandReply& reply) const {
    return !reply.error.empty() ? reply.error : reply.qps.empty() ? "" : reply.qps[0].error;
  }
  // Sets every QP to `code`, expecting what a query told.
  wire::HandRequest change(const std::string& device, const std::set<std::uint32_t>& qpns,
                           std::uint8_t code) {
    const auto seen = must(about(device, qpns));
    auto request = about(device, qpns, Kind::modify_min_rnr_timer);
    for (auto& qp : request.qps) {
      qp.new_min_rnr_timer = code;
      for (const auto& reply : seen.qps)
        if (reply.qpn == qp.qpn) qp.expected = reply.before;
    }
    return request;
  }
  bool back() {
    return loop.run_until([&] { return client.unavailable().empty(); }, 10s);
  }

  daemon::Loop loop;
  daemon::HandClient client;
  hand::RdmaNetlink netlink;
  std::map<std::string, hand::Device> devices;
  std::uint64_t held = 0;
};

inline std::string count_errors(const wire::HandReply& reply) {
  std::map<std::string, int> errors;
  for (const auto& qp : reply.qps)
    if (!qp.error.empty()) ++errors[qp.error];
  std::string out = reply.error;
  for (const auto& [error, count] : errors) out += "[" + std::to_string(count) + "x " + error + "]";
  return out;
}

inline void figure(const std::string& text) {
  std::cout << "figure: " << text << std::endl;
}

inline std::string ms(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(ns) / 1e6);
  return text;
}

// A shell script in the hand's place, to start it with less.
struct Script {
  explicit Script(const std::string& line) {
    std::ofstream(path) << "#!/bin/sh\n" << line << "\n";
    chmod(path.c_str(), 0755);
  }
  ~Script() { std::filesystem::remove(path); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  const std::string path = "/tmp/hand-" + std::to_string(getpid()) + ".sh";
};

}  // namespace rdmend::test
