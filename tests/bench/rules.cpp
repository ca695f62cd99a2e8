// SPDX-License-Identifier: Apache-2.0
// rules ROUNDS: 1,000 rules over 10,000 series, evaluated by Prometheus and by rdmend's engine, by turns, on the same samples. Prometheus
// says itself how long it took; both must have made as many series and alerts. Prints the table of RESULTS.md.
#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "bench/measure.hpp"
#include "rules/engine.hpp"
#include "support/child.hpp"
#include "support/command.hpp"

using namespace rdmend;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kMetrics = 100, kDevices = 64, kSeries = 100;  // of a metric
constexpr seconds kPast{70};
constexpr seconds kInterval{5};  // of the rules
constexpr int kWarmUp = 3;       // evaluations that make the series, and alerts that become firing
constexpr seconds kStep{5};      // of the samples

// What one asks of counters of RDMA devices; {0} is a metric, {1} another.
constexpr std::string_view kExpressions[] = {
    "increase({0}[1m]) > 5500",
    "rate({0}[1m]) / rate({1}[1m]) > 8",
    "sum by (device) (rate({0}[1m]))",
    "rate({0}[1m])",
    "max_over_time({0}[1m]) - min_over_time({0}[1m]) > 5200",
    "{0} < 1000 and {1} > 0",
    "topk(5, irate({0}[1m]))",
    "avg(rate({0}[30s])) by (port) > 10",
    "{0} - {0} offset 30s > 2800",
    "count(resets({0}[1m]) > 0) or vector(0)",
};
constexpr int kRules = kMetrics * static_cast<int>(std::size(kExpressions));

std::string metric(int number) { return fmt::format("bench_{}_total", number % kMetrics); }

std::string rule_file() {
  std::string text = fmt::format("groups:\n- name: bench\n  interval: {}s\n  rules:\n", kInterval.count());
  for (int rule = 0; rule < kRules; ++rule) {
    const auto form = kExpressions[static_cast<std::size_t>(rule) / kMetrics];
    const auto expression = fmt::format(fmt::runtime(form), metric(rule), metric(rule + 1));
    if (form.find(" > ") == std::string_view::npos || form.starts_with("count"))
      text += fmt::format("  - record: bench:{}\n    expr: {}\n", rule, expression);
    else
      text += fmt::format("  - alert: Bench{}\n    expr: {}\n    for: 10s\n    annotations: {{summary: \"{{{{ $labels.device }}}} {{{{ $value | humanize }}}}\"}}\n", rule, expression);
  }
  return text;
}

struct Data {
  std::vector<Labels> labels;
  Timestamp from, to;
  // A counter that grows by its own pace, and is reset now and then.
  [[nodiscard]] double value(std::size_t series, Timestamp at) const {
    const auto second = (at - from) / seconds{1};
    const auto pace = static_cast<double>(series * 7919 % 103);
    return series % 50 == 0 ? pace * static_cast<double>(second % 40) : 1e6 + pace * static_cast<double>(second);
  }
};

Data make_data(Timestamp now, seconds ahead) {
  Data data{{}, now - kPast, now + ahead};
  for (int m = 0; m < kMetrics; ++m)
    for (int s = 0; s < kSeries; ++s)
      data.labels.push_back(Labels{{"__name__", metric(m)}, {"device", fmt::format("mlx5_{}", s % kDevices)}, {"port", std::to_string(1 + s / kDevices)}});
  return data;
}

// Serves the samples to the first scrape, with their times, and nothing to those that follow.
class Target {
 public:
  explicit Target(std::string page) : page_(std::move(page)), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 || listen(fd_.get(), 4) != 0) std::exit(1);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~Target() { shutdown(fd_.get(), SHUT_RDWR); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve() {
    while (true) {
      const UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      char request[4096];
      if (recv(client.get(), request, sizeof request, 0) <= 0) continue;
      const auto page = std::exchange(page_, {});
      const auto answer = fmt::format("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n", page.size()) + page;
      std::size_t sent = 0;
      for (ssize_t count = 1; count > 0 && sent < answer.size(); sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0)))
        count = send(client.get(), answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (sent < answer.size()) page_ = page;  // it comes again
    }
  }
  std::string page_;
  UniqueFd fd_;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

std::string as_page(const Data& data) {
  std::string page;
  for (std::size_t series = 0; series < data.labels.size(); ++series) {
    const auto name = data.labels[series].text();
    for (auto at = data.from; at <= data.to; at += kStep) page += fmt::format("{} {} {}\n", name, data.value(series, at), at.time_since_epoch().count());
  }
  return page;
}

std::unique_ptr<store::Store> as_store(const Data& data) {
  auto made = std::make_unique<store::Store>(store::Limits{.max_bytes = std::size_t{1} << 30U, .retention = std::chrono::hours{1}});
  for (std::size_t series = 0; series < data.labels.size(); ++series)
    for (auto at = data.from; at <= data.to; at += kStep) made->append(data.labels[series], at, data.value(series, at));
  return made;
}

Now now() { return {Clock::now(), std::chrono::floor<milliseconds>(std::chrono::system_clock::now())}; }

// The value of an instant query's one element.
double ask(std::uint16_t port, const std::string& query) {
  const auto answer = bench::http_get(port, "/api/v1/query?query=" + query);
  const auto at = answer.rfind(",\"");
  return at == std::string::npos ? std::nan("") : std::strtod(answer.c_str() + at + 2, nullptr);
}

class Prometheus {
 public:
  Prometheus(const test::ScratchDirectory& work, const std::string& rules, std::uint16_t target) : port_(test::free_port()) {
    test::write_file(work / "prometheus.yml",
                     fmt::format("global: {{scrape_interval: 30s, scrape_timeout: 30s}}\nrule_files: [\"{}\"]\nscrape_configs:\n- job_name: bench\n"
                                 "  static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]\n  metric_relabel_configs: [{{regex: \"job|instance\", action: labeldrop}}]\n",
                                 rules, target));
    child_.emplace(std::vector<std::string>{"prometheus", "--config.file=" + (work / "prometheus.yml"), "--storage.tsdb.path=" + (work / "data"),
                                            fmt::format("--web.listen-address=127.0.0.1:{}", port_)},
                   work / "prometheus.log");
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string metrics() const { return bench::http_get(port_, "/metrics"); }

 private:
  std::uint16_t port_;
  std::optional<test::Child> child_;
};

// When Prometheus last began an evaluation that it has ended.
double evaluated(const std::string& page) { return bench::sample_value(page, "prometheus_rule_group_last_evaluation_timestamp_seconds"); }

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 2 ? std::max(std::atoi(argv[1]), 1) : 6;
  const test::ScratchDirectory work("bench");
  const auto rules = work / "rules.yaml";
  test::write_file(rules, rule_file());
  const auto data = make_data(std::chrono::floor<seconds>(now().wall), kInterval * (rounds + kWarmUp) + seconds{60});
  const auto store = as_store(data);
  const Target target(as_page(data));
  const Prometheus prometheus(work, rules, target.port());
  bench::wait_for_text(prometheus.port(), "/api/v1/query?query=count(bench_99_total)", "\"100\"");

  Diagnostics faults;
  rules::EngineOptions options;
  options.limits.timeout = seconds{10};
  rules::Engine engine(*store, options);
  engine.load(rules::parse_rule_file(rules, rule_file(), faults), options, now());
  if (faults.failed()) {
    fmt::print(stderr, "{}", faults.text());
    return 1;
  }

  std::vector<double> theirs, ours, ours_cpu;
  double last = 0;
  for (int round = -kWarmUp; round < rounds; ++round) {
    // Prometheus' turn ends with its figure changing; then it is ours.
    auto page = prometheus.metrics();
    for (; std::isnan(evaluated(page)) || evaluated(page) <= last; page = prometheus.metrics()) std::this_thread::sleep_for(milliseconds{100});
    last = evaluated(page);
    const double cpu = bench::own_cpu_seconds();
    const auto began = Clock::now();
    engine.step(now());
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    if (round < 0) continue;
    ours.push_back(took);
    ours_cpu.push_back(bench::own_cpu_seconds() - cpu);
    theirs.push_back(bench::sample_value(page, "prometheus_rule_group_last_duration_seconds"));
  }

  // Both have done the same: as many alerts, as many recorded series.
  std::size_t alerts = 0, failed = 0;
  for (const auto& rule : engine.status()) {
    alerts += rule.alerts.size();
    failed += rule.failures > 0 ? 1 : 0;
    if (rule.failures > 0 && failed == 1) fmt::print(stderr, "{}: {}\n", rule.name, rule.last_error);
  }
  std::size_t recorded = 0;
  const auto name = store::Matcher::make(store::Matcher::Op::regex, "__name__", "bench:.*");
  const auto at = now().wall;
  if (name) store->select(std::span(&*name, 1), at - kInterval * 2, at, [&](const Labels&, std::span<const store::Point> points) { recorded += is_stale(points.back().value) ? 0 : 1; });
  const double their_alerts = ask(prometheus.port(), "count(ALERTS)"), their_recorded = ask(prometheus.port(), "count(%7B__name__%3D~%22bench:.*%22%7D)");
  const auto near = [](double a, double b) { return std::abs(a - b) <= 0.02 * std::max(a, b); };  // the times of evaluation differ by a second or two
  if (failed > 0 || !near(static_cast<double>(alerts), their_alerts) || !near(static_cast<double>(recorded), their_recorded)) {
    fmt::print(stderr, "not the same work: {} alerts and {} series here, {} and {} in Prometheus, {} rules fail\n", alerts, recorded, their_alerts, their_recorded, failed);
    return 1;
  }
  const double mine = bench::quantile(ours, 0.5), its = bench::quantile(theirs, 0.5);
  fmt::print("\n| {} rules, {} series, {} active alerts, {} recorded series | rdmend | Prometheus | ratio | aim |\n|---|---|---|---|---|\n", kRules, data.labels.size(), alerts, recorded);
  fmt::print("| one evaluation of the group, median of {} | {:.1f} ms | {:.1f} ms | {:.2f} | 0.2 |\n", rounds, mine * 1000, its * 1000, mine / its);
  fmt::print("| its CPU | {:.1f} ms | not told | | |\n", bench::quantile(ours_cpu, 0.5) * 1000);
  return 0;
}
