// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <string>

#include "support/child.hpp"

namespace rdmend::test {

// The real Alertmanager, alone (no cluster), on a free port, with storage of its own.
class Alertmanager {
 public:
  explicit Alertmanager(const ScratchDirectory& in, const std::string& name = "alertmanager", std::uint16_t port = free_port())
      : port_(port), child_(arguments(in, name, port_), in / (name + ".log")) {}

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  Child& child() { return child_; }

 private:
  static std::vector<std::string> arguments(const ScratchDirectory& in, const std::string& name, std::uint16_t port) {
    const auto file = in / (name + ".yml");
    std::ofstream(file) << "route: {receiver: none}\nreceivers: [{name: none}]\n";
    return {"prometheus-alertmanager", "--config.file=" + file, "--storage.path=" + (in / name), "--cluster.listen-address=",
            "--web.listen-address=127.0.0.1:" + std::to_string(port)};
  }
  std::uint16_t port_;
  Child child_;
};

}  // namespace rdmend::test
