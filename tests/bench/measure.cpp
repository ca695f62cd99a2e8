// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/unique_fd.hpp"

namespace rdmend::bench {
namespace {

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The number behind `key` in a file of lines "key: number ..."; 0 when there is none.
double number_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::strtod(line.c_str() + key.size() + 1, nullptr);
  return 0;
}

// The lines of a page that are samples.
template <class Visit>
void each_sample(const std::string& page, const Visit& visit) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != '#') visit(line);
}

}  // namespace

double cpu_seconds(pid_t pid) {
  clockid_t clock{};
  return clock_getcpuclockid(pid, &clock) == 0 ? seconds_on(clock) : 0;
}

double own_cpu_seconds() { return seconds_on(CLOCK_PROCESS_CPUTIME_ID); }

Memory memory_of(pid_t pid) {
  const auto rollup = "/proc/" + std::to_string(pid) + "/smaps_rollup";
  return {number_in(rollup, "Rss") / 1024, number_in(rollup, "Pss") / 1024, number_in(rollup, "Anonymous") / 1024};
}

Switches switches_of(pid_t pid) {
  Switches sum;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const auto status = task.path().string() + "/status";
    sum.voluntary += static_cast<std::uint64_t>(number_in(status, "voluntary_ctxt_switches"));
    sum.other += static_cast<std::uint64_t>(number_in(status, "nonvoluntary_ctxt_switches"));
  }
  return sum;
}

std::string http_get(std::uint16_t port, const std::string& path, const std::string& headers, double* seconds) {
  const auto began = std::chrono::steady_clock::now();
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return {};
  // 1.0, for an answer in one piece, and a connection that ends with it.
  const auto request = "GET " + path + " HTTP/1.0\r\nHost: bench\r\n" + headers + "\r\n";
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return {};
  std::string answer;
  static char buffer[1U << 18U];
  for (ssize_t got = 0; (got = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, static_cast<std::size_t>(got));
  if (seconds != nullptr) *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const auto body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || answer.substr(8, 4) != " 200" || body == std::string::npos) return {};
  return answer.substr(body + 4);
}

void wait_for_text(std::uint16_t port, const std::string& path, std::string_view text) {
  for (int tries = 0; tries < 600; ++tries) {
    if (http_get(port, path).find(text) != std::string::npos) return;
    usleep(100'000);
  }
  std::fprintf(stderr, "port %d never says \"%.*s\"\n", port, static_cast<int>(text.size()), text.data());
  std::exit(1);
}

std::size_t count_series(const std::string& page, std::string_view prefix) {
  std::size_t count = 0;
  each_sample(page, [&](const std::string& line) { count += line.starts_with(prefix) ? 1 : 0; });
  return count;
}

double sample_value(const std::string& page, std::string_view series) {
  double value = std::nan("");
  each_sample(page, [&](const std::string& line) {
    if (std::isnan(value) && line.starts_with(series)) value = std::strtod(line.c_str() + line.rfind(' '), nullptr);
  });
  return value;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

}  // namespace rdmend::bench
