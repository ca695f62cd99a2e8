// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

struct Options {
  bool as_json = false, deep = false;
  std::string device;
};

std::vector<std::string> row(const json& device, const json& qp, bool deep) {
  const auto owner = cell(qp, "kernel_owner");
  std::vector<std::string> out{cell(device, "device"), cell(qp, "port"),   cell(qp, "qpn"),    cell(qp, "type"), cell(qp, "state"),
                               cell(qp, "remote_qpn"), cell(qp, "rq_psn"), cell(qp, "sq_psn"), cell(qp, qp.contains("tgid") && qp["tgid"] != 0 ? "tgid" : "pid")};
  if (deep) {
    const auto none = json::object();
    const auto& read = qp.contains("attributes") ? qp["attributes"] : none;
    for (const auto* name : {"timeout", "retry_cnt", "rnr_retry", "min_rnr_timer"}) out.push_back(cell(read, name));
    out.push_back(cell(qp, "deep_error"));
  }
  out.push_back(owner == "-" ? cell(qp, "comm") : "[" + owner + "]");
  return out;
}

int show(const json& data, const Options& options) {
  std::vector<std::string> header{"DEVICE", "PORT", "QPN", "TYPE", "STATE", "REMOTE", "RQ-PSN", "SQ-PSN", "PID"};
  if (options.deep) header.insert(header.end(), {"TIMEOUT", "RETRY", "RNR-RETRY", "MIN-RNR-TIMER", "NOTE"});
  header.emplace_back("COMMAND");
  TextTable table(header);
  int exit = options.device.empty() ? fine : wrong;
  for (const auto& device : data["devices"]) {
    if (!options.device.empty() && device["device"] != options.device) continue;
    exit = fine;
    for (const auto& qp : device["qps"]) table.add(row(device, qp, options.deep));
    if (device["truncated"].get<bool>()) fmt::print(stderr, "{}: more QPs than sampling.qp_cap: not all are listed\n", cell(device, "device"));
    if (device.contains("deep_error")) fmt::print(stderr, "{}: {}\n", cell(device, "device"), cell(device, "deep_error"));
  }
  if (exit != fine)
    fmt::print(stderr, "rdmendctl: no QPs of a device '{}' are known\n", options.device);
  else
    table.print();
  return exit;
}

}  // namespace

void add_qps(CLI::App& parent, const Globals& globals, int& exit) {
  auto* command = parent.add_subcommand("qps", "The queue pairs of every process on this host");
  auto options = std::make_shared<Options>();
  command->add_option("DEVICE", options->device, "of this device only");
  command->add_flag("--deep", options->deep, "ask the external hand for their real attributes too");
  command->add_flag("--json", options->as_json, "for programs");
  command->callback([&globals, &exit, options] {
    Call call{"/api/v1/qps", {}};
    if (options->deep) call.parameters.emplace_back("deep", "1");
    exit = online(globals, call, options->as_json, [options](const json& data) { return show(data, *options); });
  });
}

}  // namespace rdmend::ctl
