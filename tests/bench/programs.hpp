// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "bench/measure.hpp"
#include "support/child.hpp"
#include "support/command.hpp"

// The programs that are measured, on trees of devices that are none.
namespace rdmend::bench {

struct RdmendOptions {
  std::string interval = "1s";  // of all sampling
  std::string rules;            // a pattern; empty: none
  std::string qp_interval = "30s";
};

class Rdmend {
 public:
  Rdmend(const std::string& program, const std::string& tree, const test::ScratchDirectory& work, const std::string& name, const RdmendOptions& options)
      : state_(work / (name + ".state")), config_(work / (name + ".yaml")), port_(test::free_port()) {
    std::filesystem::create_directory(state_);
    test::write_file(config_, "listen: [\"127.0.0.1:" + std::to_string(port_) + "\"]\ncontrol_socket: " + state_ + "/control.sock\nstate_directory: " + state_ +
                                  (tree == "/sys" ? "" : "\npaths: {sysfs: " + tree + "}") + "\nsampling: {interval: " + options.interval + ", counters_interval: " + options.interval +
                                  ", qp_interval: " + options.qp_interval + "}\nrule_files: [" + (options.rules.empty() ? "" : '"' + options.rules + '"') + "]\n");
    child_.emplace(std::vector<std::string>{program, "--config", config_}, work / (name + ".log"));
    wait_for_text(port_, "/metrics", "rdmend_build_info");
  }
  [[nodiscard]] pid_t pid() const { return child_->pid(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::string state_, config_;
  std::uint16_t port_;
  std::optional<test::Child> child_;
};

class NodeExporter {
 public:
  NodeExporter(const std::string& tree, const test::ScratchDirectory& work, const std::string& name)
      : port_(test::free_port()),
        child_({"prometheus-node-exporter", "--collector.disable-defaults", "--collector.infiniband", "--path.sysfs=" + tree,
                "--web.listen-address=127.0.0.1:" + std::to_string(port_)},
               work / (name + ".log")) {
    wait_for_text(port_, "/metrics", "node_scrape_collector_success");
  }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_;
  test::Child child_;
};

}  // namespace rdmend::bench
