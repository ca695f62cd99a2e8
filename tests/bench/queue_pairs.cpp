// SPDX-License-Identifier: Apache-2.0
// queue_pairs RDMEND QP_OWNER RULES PAIRS SECONDS: in the guest of tests/vm with two hosts: what rdmend costs while a process has PAIRS pairs of
// queue pairs, beside what it costs without them and what `rdma resource show qp` costs. Prints the table of RESULTS.md.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <thread>

#include "bench/programs.hpp"

using namespace rdmend;
using namespace rdmend::bench;

namespace {

constexpr int kSweep = 5;  // seconds from one look at all queue pairs to the next

// What one stretch of time showed.
struct Stretch {
  double cpu = 0;  // of rdmend, a second
  Memory memory;
  double queue_pairs = 0, samples = 0, evaluations = 0;
  std::vector<double> scrapes, answers;
  double tool = 0;  // CPU of one `rdma resource show qp`
};

double query(std::uint16_t port, const std::string& expression) {
  const auto answer = http_get(port, "/api/v1/query?query=" + expression);
  const auto value = answer.rfind(",\"");
  return value == std::string::npos ? 0 : std::strtod(answer.c_str() + value + 2, nullptr);
}

double tool_seconds() {
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  if (test::run_command("rdma resource show qp > /dev/null").status != 0) return 0;
  getrusage(RUSAGE_CHILDREN, &after);
  const auto sum = [](const rusage& used) {
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  };
  return sum(after) - sum(before);
}

// A health check each 20 ms, whose answer comes no sooner than the loop gets to it, and a scrape each five seconds.
Stretch watch(const Rdmend& rdmend, int length) {
  Stretch seen;
  const auto port = rdmend.port();
  const double began = cpu_seconds(rdmend.pid());
  const auto start = std::chrono::steady_clock::now();
  for (auto next = start; next < start + std::chrono::seconds{length}; std::this_thread::sleep_until(next += std::chrono::milliseconds{20})) {
    double seconds = 0;
    if ((next - start) % std::chrono::seconds{kSweep} == std::chrono::seconds{kSweep / 2}) {
      http_get(port, "/metrics", {}, &seconds);
      seen.scrapes.push_back(seconds);
    }
    if (http_get(port, "/-/healthy", {}, &seconds).empty()) seconds = 60;
    seen.answers.push_back(seconds);
  }
  seen.cpu = (cpu_seconds(rdmend.pid()) - began) / length;
  seen.memory = memory_of(rdmend.pid());
  seen.queue_pairs = query(port, "sum(rdma_qps)");
  seen.samples = query(port, fmt::format("min(count_over_time(rdma_packets_sent_total[{}s]))", length));
  seen.evaluations = query(port, fmt::format("sum(increase(rdmend_rule_evaluations_total[{}s]))", length));
  for (int i = 0; i < 5; ++i) seen.tool += tool_seconds() / 5;
  return seen;
}

void row(std::string_view what, const char* unit, double without, double with) { fmt::print("| {} | {:.4g} {} | {:.4g} {} |\n", what, without, unit, with, unit); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: queue_pairs RDMEND QP_OWNER RULES PAIRS SECONDS\n");
    return 2;
  }
  const int length = std::atoi(argv[5]);
  const test::ScratchDirectory work("bench");
  const Rdmend rdmend(argv[1], "/sys", work, "rdmend", {.interval = "1s", .rules = argv[3], .qp_interval = fmt::format("{}s", kSweep)});
  wait_for_text(rdmend.port(), "/metrics", "rdma_port_state{device=\"rxe2\"");
  std::this_thread::sleep_for(std::chrono::seconds{kSweep});
  const auto without = watch(rdmend, length);

  int held[2];
  if (pipe(held) != 0) return 1;
  const auto said = work / "owner.log";
  const test::Child owner({argv[2], "main", argv[4]}, said, [&] { dup2(held[0], STDIN_FILENO); });
  for (int tries = 0; test::slurp(said).find("\nready\n") == std::string::npos; ++tries) {
    if (tries == 400) {
      fmt::print(stderr, "the queue pairs are never ready: {}\n", test::slurp(said));
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::seconds{1});
  }
  const double wanted = 2 * std::atof(argv[4]);
  for (int tries = 0; query(rdmend.port(), "sum(rdma_qps)") < wanted && tries < 60; ++tries) std::this_thread::sleep_for(std::chrono::seconds{1});
  std::this_thread::sleep_for(std::chrono::seconds{kSweep});
  const auto with = watch(rdmend, length);
  if (with.queue_pairs < wanted) {
    fmt::print(stderr, "rdmend sees {} queue pairs of {}:\n{}", with.queue_pairs, wanted, test::slurp(work / "rdmend.log"));
    return 1;
  }

  utsname system{};
  uname(&system);
  const double sweep = (with.cpu - without.cpu) * kSweep, tool = with.tool - without.tool;
  fmt::print("\nLinux {} in the guest.\n\n| | without | with |\n|---|---|---|\n", system.release);
  row("queue pairs", "", without.queue_pairs, with.queue_pairs);
  row("CPU of one processor", "%", without.cpu * 100, with.cpu * 100);
  row("resident memory", "MiB", without.memory.resident, with.memory.resident);
  row("of it anonymous", "MiB", without.memory.anonymous, with.memory.anonymous);
  row("scrape, median", "ms", quantile(without.scrapes, 0.5) * 1000, quantile(with.scrapes, 0.5) * 1000);
  row("scrape, longest", "ms", quantile(without.scrapes, 1) * 1000, quantile(with.scrapes, 1) * 1000);
  row("health check, median", "ms", quantile(without.answers, 0.5) * 1000, quantile(with.answers, 0.5) * 1000);
  row("health check, longest: the loop was busy for so long", "ms", quantile(without.answers, 1) * 1000, quantile(with.answers, 1) * 1000);
  row(fmt::format("samples of a port's counter in {} s, at one a second", length), "", without.samples, with.samples);
  row(fmt::format("evaluations of rules in {} s", length), "", without.evaluations, with.evaluations);
  fmt::print("\nOne look at all {:.0f} queue pairs, series and their stale ends included, is {:.0f} ms of CPU; `rdma resource show qp`, which only prints them, {:.0f} ms: ratio {:.2f}.\n",
             with.queue_pairs, sweep * 1000, tool * 1000, sweep / tool);
  return 0;
}
