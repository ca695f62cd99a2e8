// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "base/text.hpp"
#include "client.hpp"
#include "text_table.hpp"

namespace rdmend::ctl {
namespace {

struct Options {
  bool deep = false;
  std::string device;
};

// "10.0.0.2 (failed)": the peer, and how this host's ARP or ND entry of it is.
std::string peer_cell(const json& qp) {
  const auto peer = cell(qp, "peer");
  return qp.contains("neighbour") ? peer + " (" + cell(qp, "neighbour") + ")" : peer;
}

std::vector<std::string> row(const json& device, const json& qp, bool deep) {
  const auto owner = cell(qp, "kernel_owner");
  std::vector<std::string> out{
      cell(device, "device"), cell(qp, "port"),
      cell(qp, "qpn"),        cell(qp, "type"),
      cell(qp, "state"),      cell(qp, "remote_qpn"),
      peer_cell(qp),          cell(qp, "rq_psn"),
      cell(qp, "sq_psn"),     cell(qp, qp.contains("tgid") && qp["tgid"] != 0 ? "tgid" : "pid")};
  if (deep) {
    const auto none = json::object();
    const auto& read = qp.contains("attributes") ? qp["attributes"] : none;
    for (const auto* name : {"timeout", "retry_cnt", "rnr_retry", "min_rnr_timer"})
      out.push_back(cell(read, name));
    out.push_back(cell(qp, "deep_error"));
  }
  out.push_back(owner == "-" ? cell(qp, "comm") : "[" + owner + "]");
  return out;
}

int judge(json& data, const Options& options) {
  if (options.device.empty()) return fine;
  auto wanted = json::array();
  for (auto& device : data["devices"])
    if (device["device"] == options.device) wanted.push_back(std::move(device));
  data["devices"] = std::move(wanted);
  if (!data["devices"].empty()) return fine;
  fmt::print(stderr,
             "rdmendctl: no queue pairs of a device '{}' are known; 'rdmendctl status' lists the devices\n",
             printable(options.device, 64));
  return wrong;
}

void show_qps(const json& data, const Options& options) {
  std::vector<std::string> header{"DEVICE", "PORT", "QPN",    "TYPE",   "STATE",
                                  "REMOTE", "PEER", "RQ-PSN", "SQ-PSN", "PID"};
  if (options.deep) header.insert(header.end(), {"TIMEOUT", "RETRY", "RNR-RETRY", "MIN-RNR-TIMER", "NOTE"});
  header.emplace_back("COMMAND");
  TextTable table(header);
  for (const auto& device : data["devices"]) {
    for (const auto& qp : device["qps"]) table.add(row(device, qp, options.deep));
    if (device["truncated"].get<bool>())
      fmt::print(stderr, "{}: more QPs than sampling.qp_cap: not all are listed\n", cell(device, "device"));
    if (device.contains("deep_error"))
      fmt::print(stderr, "{}: {}\n", cell(device, "device"), cell(device, "deep_error"));
  }
  table.print_or("no queue pair");
}

}  // namespace

void add_qps(CLI::App& parent, const Globals& globals, int& exit) {
  auto options = std::make_shared<Options>();
  const auto call = [options] {
    Call out{"/api/v1/qps", {}};
    if (options->deep) out.parameters.emplace_back("deep", "1");
    return out;
  };
  auto& command = add_question(parent, globals, exit,
                               {"qps", "The queue pairs of every process on this host", call,
                                [options](const json& data) { show_qps(data, *options); },
                                [options](json& data) { return judge(data, *options); }});
  command.add_option("DEVICE", options->device, "of this device only")->type_name("");
  command.add_flag("--deep", options->deep, "ask the external hand for their real attributes too");
}

}  // namespace rdmend::ctl
