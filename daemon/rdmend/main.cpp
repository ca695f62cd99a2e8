// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <fmt/format.h>
#include <malloc.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/log.hpp"
#include "command_line.hpp"
#include "rdmend/daemon.hpp"
#include "rdmend/log_level.hpp"

namespace {

using namespace rdmend;
using namespace rdmend::daemon;

constexpr int kFine = 0;
constexpr int kWrong = 1;
constexpr int kKeptHeap = 8 << 20;

int run(const std::string& file, bool only_check, DaemonOptions options) {
  Diagnostics diagnostics;
  auto settings = load_settings(file, diagnostics);
  fmt::print(stderr, "{}", diagnostics.text());
  if (diagnostics.failed()) return kWrong;
  if (only_check) {
    const auto count = settings.rule_files.size();
    fmt::print("{}: good, and {} rule file{}\n", file, count, count == 1 ? "" : "s");
    return kFine;
  }
  set_log_level(settings.config.log_level);
  options.sockets = passed_sockets();
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  Loop loop;
  // Before any worker thread is made: those block all signals.
  const auto terminate = loop.on_signal(SIGTERM, [&] { loop.stop(); });
  const auto interrupt = loop.on_signal(SIGINT, [&] { loop.stop(); });
  Daemon daemon(loop, std::move(settings), options);
  const auto hang_up = loop.on_signal(SIGHUP, [&] { daemon.reload(); });
  if (const auto started = daemon.start(); !started) {
    log::error("daemon", started.error().message);
    return kWrong;
  }
  loop.run();
  daemon.stop();
  return kFine;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Watches the RDMA devices of this host, decides by rules, mends, and tells Prometheus and Alertmanager.", "rdmend"};
  std::string file = "/etc/rdmend/rdmend.yaml";
  bool only_check = false;
  DaemonOptions options;
  app.set_version_flag("--version", "rdmend " RDMEND_VERSION);
  app.add_option("--config", file, "The configuration")->type_name("FILE")->capture_default_str();
  app.add_flag("--check-config", only_check, "Check the configuration and the rules it names, and end");
  app.add_option("--hand", options.hand, "Grants acting: the program rdmend-hand, or the socket that systemd starts it for")
      ->envname("RDMEND_HAND")
      ->type_name("PATH");
  if (const auto exit = command_line::parse(app, argc, argv)) return *exit;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  return run(file, only_check, std::move(options));
}

}  // namespace

int main(int argc, char** argv) {
  // An answer of some megabytes is made for each scrape: its pages are kept, not given back and faulted in anew. A reader of each
  // device needs no heap of its own.
  mallopt(M_MMAP_THRESHOLD, kKeptHeap);
  mallopt(M_TRIM_THRESHOLD, kKeptHeap);
  mallopt(M_ARENA_MAX, 2);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "rdmend: {}\n", fault.what());
    return kWrong;
  }
}
