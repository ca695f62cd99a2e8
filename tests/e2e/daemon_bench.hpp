// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/child.hpp"
#include "support/command.hpp"
#include "support/fake_sysfs.hpp"

// The real rdmend and rdmendctl on this machine, without RDMA: the devices are a tree of files.
namespace rdmend::test {

inline const std::string kRdmend = RDMEND_BINARY_DIR "/daemon/rdmend/rdmend";
inline const std::string kCtl = RDMEND_BINARY_DIR "/daemon/rdmendctl/rdmendctl";

inline constexpr auto kRules = R"(groups:
- name: ports
  interval: 1s
  rules:
  - alert: PortDown
    expr: rdma_port_state != 4
    labels: {severity: critical}
    annotations: {summary: "{{ $labels.device }} is down"}
    remedy:
    - advise: {about: receive_queue}
  - alert: PortDownLong
    expr: rdma_port_state != 4
    for: 10m
  - record: ports_up
    expr: count(rdma_port_state == 4)
)";

// Looks again and again, 20 ms apart, until it holds.
inline bool eventually(const std::function<bool()>& condition, std::chrono::seconds bound = std::chrono::seconds{60}) {
  const auto end = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, 20);
  }
  return true;
}

struct DaemonBench {
  DaemonBench() : sysfs(scratch / "sys"), port(free_port()) {
    sysfs.add("mlx5_0");
    sysfs.add("mlx5_1");
    write_file(rules(), kRules);
    configure("");
  }
  [[nodiscard]] std::string config() const { return scratch / "rdmend.yaml"; }
  [[nodiscard]] std::string rules() const { return scratch / "ports.rules.yaml"; }
  [[nodiscard]] std::string socket() const { return scratch / "control.sock"; }
  [[nodiscard]] std::string log() const { return slurp(scratch / "rdmend.log"); }
  void configure(const std::string& more) const {
    const auto usual = "[\"127.0.0.1:" + std::to_string(port) + "\", \"unix:" + (scratch / "http.sock") + "\"]";
    write_file(config(), "listen: " + (listen.empty() ? usual : listen) + "\n" +
                             "control_socket: " + socket() + "\nstate_directory: " + (scratch / "state") + "\npaths: {sysfs: " + sysfs.root() +
                             "}\nrule_files: [\"*.rules.yaml\"]\nexternal_labels: {instance: host-17}\n" + more);
  }
  void start() {
    std::filesystem::create_directories(scratch / "state");
    daemon.emplace(std::vector<std::string>{kRdmend, "--config", config()}, scratch / "rdmend.log", before_exec);
    const bool ready = eventually([&] { return get("/-/ready").starts_with("rdmend is ready") || daemon->ended(); });
    INFO(log());
    REQUIRE(ready);
    REQUIRE_FALSE(daemon->ended());
  }
  // Asks it to end; its exit status.
  int stop() {
    daemon->signal(SIGTERM);
    REQUIRE(eventually([&] { return daemon->ended().has_value(); }));
    return *daemon->ended();
  }
  [[nodiscard]] std::string get(const std::string& target, const std::string& options = "") const {
    return run_command("curl -s -g -m 20 " + curl + " " + options + " '" + scheme + "://127.0.0.1:" + std::to_string(port) + target + "'").output;
  }
  [[nodiscard]] nlohmann::json get_json(const std::string& target, const std::string& options = "") const {
    const auto text = get(target, options);
    INFO(target << " answers " << text);
    auto out = nlohmann::json::parse(text, nullptr, false);
    REQUIRE_FALSE(out.is_discarded());
    return out;
  }
  [[nodiscard]] CommandResult ctl(const std::string& arguments) const {
    return run_command(kCtl + " --socket " + socket() + " " + arguments + " 2>&1");
  }
  [[nodiscard]] std::string state_of(const std::string& alert) const {
    const auto answer = get_json("/api/v1/alerts");
    for (const auto& active : answer["data"]["alerts"])
      if (active["labels"]["alertname"] == alert) return active["state"];
    return "";
  }

  ScratchDirectory scratch{"e2e"};
  FakeSysfs sysfs;
  std::uint16_t port;
  std::string listen;  // instead of the usual addresses; then configure() again
  std::string scheme = "http", curl;  // how get() asks
  std::function<void()> before_exec;  // in the child
  std::optional<Child> daemon;
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace rdmend::test
