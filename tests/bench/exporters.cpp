// SPDX-License-Identifier: Apache-2.0
// exporters RDMEND MAKE_SYSFS RULES ROUNDS: rdmend and node_exporter on the same trees, side by side: CPU, memory, latency of scrapes, then
// wake-ups while nobody asks. Prints the tables of RESULTS.md.
#include <fmt/format.h>

#include <thread>

#include "bench/programs.hpp"

using namespace rdmend;
using namespace rdmend::bench;

namespace {

struct Setting {
  std::string rdmend, make_sysfs, rules;
  int rounds = 60;
};

std::string make_tree(const Setting& setting, const test::ScratchDirectory& work, int devices) {
  auto tree = work / fmt::format("sysfs{}", devices);
  if (const auto made = test::run_command(fmt::format("{} {} {} 2>&1", setting.make_sysfs, tree, devices)); made.status != 0) {
    fmt::print(stderr, "{}", made.output);
    std::exit(1);
  }
  return tree;
}

// What one of the two did over some rounds.
struct Account {
  pid_t pid;
  std::uint16_t port;
  double cpu = 0;
  std::vector<double> latencies;
  std::string page;
};

// A scrape of each, each second, the one first and the other first by turns. Between them rdmend has collected by itself as often as
// node_exporter collects when it is asked, so both have done ROUNDS collections and ROUNDS scrapes.
void run_rounds(Account& ours, Account& theirs, int rounds, const std::string& headers) {
  for (auto* account : {&ours, &theirs}) {
    account->latencies.clear();
    account->cpu = cpu_seconds(account->pid);
  }
  auto next = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    for (const bool first : {true, false}) {
      auto& account = first == (round % 2 == 0) ? ours : theirs;
      double seconds = 0;
      account.page = http_get(account.port, "/metrics", headers, &seconds);
      account.latencies.push_back(seconds);
    }
    std::this_thread::sleep_until(next += std::chrono::seconds{1});
  }
  for (auto* account : {&ours, &theirs}) account->cpu = cpu_seconds(account->pid) - account->cpu;
}

void row(const std::string& what, const char* unit, double ours, double theirs, const char* aim = "") {
  fmt::print("| {} | {:.4g} {} | {:.4g} {} | {:.2f} | {} |\n", what, ours, unit, theirs, unit, ours / theirs, aim);
}

void cost_rows(const char* how, const Account& ours, const Account& theirs, int rounds) {
  row(fmt::format("CPU of a collection and a scrape{}", how), "ms", ours.cpu * 1000 / rounds, theirs.cpu * 1000 / rounds, "0.25");
  for (const auto& [what, q] : {std::pair{"median", 0.5}, std::pair{"99th percentile", 0.99}})
    row(fmt::format("scrape{}, {}", how, what), "ms", quantile(ours.latencies, q) * 1000, quantile(theirs.latencies, q) * 1000);
}

void compare(const Setting& setting, int devices) {
  const test::ScratchDirectory work("bench");
  const auto tree = make_tree(setting, work, devices);
  const Rdmend rdmend(setting.rdmend, tree, work, "rdmend", {});
  const NodeExporter exporter(tree, work, "node_exporter");
  wait_for_text(rdmend.port(), "/metrics", fmt::format("rdma_port_state{{device=\"mlx5_{}\"", devices - 1));
  Account ours{rdmend.pid(), rdmend.port(), 0, {}, {}}, theirs{exporter.pid(), exporter.port(), 0, {}, {}};
  run_rounds(ours, theirs, 5, {});  // caches, the heaps' first growth

  fmt::print("\n### {} devices\n\n| | rdmend | node_exporter | ratio | aim |\n|---|---|---|---|---|\n", devices);
  run_rounds(ours, theirs, setting.rounds, {});
  row("series of the devices", "", static_cast<double>(count_series(ours.page, "rdma_")), static_cast<double>(count_series(theirs.page, "node_infiniband_")), "3");
  cost_rows("", ours, theirs, setting.rounds);
  const auto a_series = [&](const Account& account, std::string_view prefix) { return account.cpu * 1e6 / setting.rounds / static_cast<double>(count_series(account.page, prefix)); };
  row("CPU for each series", "us", a_series(ours, "rdma_"), a_series(theirs, "node_infiniband_"));
  const int zipped = std::max(setting.rounds / 2, 1);
  run_rounds(ours, theirs, zipped, "Accept-Encoding: gzip\r\n");
  cost_rows(" in gzip", ours, theirs, zipped);
  const auto mine = memory_of(rdmend.pid()), its = memory_of(exporter.pid());
  const auto kept = sample_value(http_get(rdmend.port(), "/metrics"), "rdmend_store_bytes") / 1048576;
  row("resident memory", "MiB", mine.resident, its.resident, "0.5");
  row("the same, shared pages divided by their users (PSS)", "MiB", mine.proportional, its.proportional);
  row("of it anonymous", "MiB", mine.anonymous, its.anonymous);
  row("resident memory but for the history", "MiB", mine.resident - kept, its.resident);
}

// rdmend keeps a quarter of an hour of every series. As many points as that come in a tenth of the time when it samples ten times as often.
void memory_with_whole_history(const Setting& setting) {
  const test::ScratchDirectory work("bench");
  const RdmendOptions often{.interval = "100ms", .rules = {}};
  const Rdmend small(setting.rdmend, make_tree(setting, work, 8), work, "small", often);
  const Rdmend large(setting.rdmend, make_tree(setting, work, 64), work, "large", often);
  std::this_thread::sleep_for(std::chrono::milliseconds{1500} * setting.rounds);
  fmt::print("\n| devices | points kept | history | resident memory |\n|---|---|---|---|\n");
  for (const auto& [devices, rdmend] : {std::pair{8, &small}, std::pair{64, &large}}) {
    const auto page = http_get(rdmend->port(), "/metrics");
    fmt::print("| {} | {:.0f} | {:.1f} MiB | {:.1f} MiB |\n", devices, sample_value(page, "rdmend_store_points"), sample_value(page, "rdmend_store_bytes") / 1048576,
               memory_of(rdmend->pid()).resident);
  }
}

struct Rest {
  std::string name;
  pid_t pid;
  double cpu = 0;
  Switches switches{};
};

void idle(const Setting& setting) {
  const test::ScratchDirectory work("bench");
  const auto none = make_tree(setting, work, 0), eight = make_tree(setting, work, 8);
  const RdmendOptions as_installed{.interval = "1s", .rules = setting.rules};
  const Rdmend empty(setting.rdmend, none, work, "empty", as_installed), busy(setting.rdmend, eight, work, "busy", as_installed);
  const NodeExporter exporter(eight, work, "node_exporter");
  wait_for_text(busy.port(), "/metrics", "rdma_port_state{device=\"mlx5_7\"");
  std::this_thread::sleep_for(std::chrono::seconds{3});
  std::vector<Rest> all{{"rdmend, no device", empty.pid()}, {"rdmend, 8 devices", busy.pid()}, {"node_exporter, 8 devices, collects nothing", exporter.pid()}};
  for (auto& rest : all) {
    rest.cpu = cpu_seconds(rest.pid);
    rest.switches = switches_of(rest.pid);
  }
  const double length = setting.rounds / 2.0;
  std::this_thread::sleep_for(std::chrono::duration<double>(length));
  fmt::print("\n| | CPU | waits a second | taken off the CPU a second |\n|---|---|---|---|\n");
  for (const auto& rest : all) {
    const auto now = switches_of(rest.pid);
    fmt::print("| {} | {:.3f} % | {:.1f} | {:.1f} |\n", rest.name, (cpu_seconds(rest.pid) - rest.cpu) / length * 100,
               static_cast<double>(now.voluntary - rest.switches.voluntary) / length, static_cast<double>(now.other - rest.switches.other) / length);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: exporters RDMEND MAKE_SYSFS RULES ROUNDS compare|history|idle\n");
    return 2;
  }
  const Setting setting{argv[1], argv[2], argv[3], std::max(std::atoi(argv[4]), 2)};
  const std::string_view what = argv[5];
  if (what == "compare")
    for (const int devices : {8, 64}) compare(setting, devices);
  if (what == "history") memory_with_whole_history(setting);
  if (what == "idle") idle(setting);
  return 0;
}
