// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "base/result.hpp"
#include "model/labels.hpp"

namespace rdmend::config {

enum class Mode { observe, act };

struct BasicAuth {
  std::string username, password;  // password read from password_file where that was given
  friend bool operator==(const BasicAuth&, const BasicAuth&) = default;
};
// PEM texts, read and checked with the configuration: a reload reads them again.
struct ServerTls {
  std::string cert, key;
  std::string client_ca;  // who signs the certificates that clients must show; "" when they need none
  friend bool operator==(const ServerTls&, const ServerTls&) = default;
};
struct Listen {
  std::string host;  // "" for a unix socket; "::" listens on IPv6 and IPv4
  std::uint16_t port = 0;
  std::string path;  // of the unix socket
  std::string text;  // the address as written
  std::optional<ServerTls> tls{};
  std::optional<BasicAuth> basic_auth{};
  friend bool operator==(const Listen&, const Listen&) = default;
};
struct Alertmanager {
  std::string url;
  milliseconds timeout{5000};
  std::optional<BasicAuth> basic_auth;
  std::string ca_file, cert_file, key_file;
  bool insecure_skip_verify = false;
};
// A token bucket: `burst` at once, one more each `refill`.
struct Bucket {
  std::size_t burst = 0;
  milliseconds refill{0};
};

// /etc/rdmend/rdmend.yaml. Defaults here are the documented ones.
struct Config {
  Mode mode = Mode::observe;
  struct {
    std::vector<std::string> include{".*"}, exclude;
  } devices;
  struct {
    std::vector<std::string> include{".*"}, exclude;
  } raw_counters;
  std::vector<Listen> listen;  // default [::]:9879 and unix:/run/rdmend/http.sock
  std::string control_socket = "/run/rdmend/control.sock";
  std::string control_group;  // group that may read; "" for root alone
  std::string state_directory = "/var/lib/rdmend";
  struct {
    std::string sysfs = "/sys", proc = "/proc";
  } paths;
  std::vector<std::string> rule_files{"/etc/rdmend/rules.d/*.yaml"};
  std::vector<Alertmanager> alertmanagers;
  Labels external_labels;  // default {instance: <hostname>}
  std::string external_url;
  struct {
    milliseconds resend{60'000};
    std::size_t queue = 10'000;
  } notifications;
  struct {
    std::vector<std::string> allow;
    std::vector<std::string> units;  // that restart_unit may restart
    Bucket qp{2, std::chrono::minutes{10}};
    Bucket process{64, std::chrono::minutes{1}};
    Bucket host{256, std::chrono::minutes{1}};
    milliseconds settle{30'000};
    milliseconds hold{600'000};
    milliseconds hold_down{60'000};      // between two actions on one target, doubled each time up to hold_down_max
    milliseconds hold_down_max{3'600'000};
    // The breaker opens when more than `breaker_share` of the host's targets, and at least `breaker_least`, are acted on in `breaker_window`.
    double breaker_share = 0.5;
    std::size_t breaker_least = 8;
    milliseconds breaker_window{60'000};
  } remedies;
  struct {
    bool per_qp = false;
    std::size_t max_series = 50'000;
    bool node_exporter_names = false;
  } metrics;
  struct {
    milliseconds interval{1000}, counters_interval{10'000}, qp_interval{30'000}, deadline{2000};
    std::size_t qp_cap = 20'000;
  } sampling;
  struct {
    std::size_t max_bytes = std::size_t{64} << 20U;
  } store;
  struct {
    std::size_t max_samples = 500'000;
    milliseconds timeout{50};
  } query;
  struct {
    milliseconds evaluation_interval{15'000};
  } rules;
  std::string log_level = "info";
};

// Parses and validates; all faults at once. Usable only if `diagnostics` did not fail. `hostname` is the default instance.
// Relative rule_files count from the directory of `file`.
Config parse(const std::string& file, const std::string& text, const std::string& hostname, Diagnostics& diagnostics);

// One row a key, in the file's order: the reference page and the "legal are" hints are made from it.
struct KeyRow {
  std::string_view path;           // "remedies.allow"
  std::string_view type;           // "list of strings"
  std::string_view default_value;  // as it would be written
  std::string_view help;
};
const std::vector<KeyRow>& keys();
// The value of the key `path` in `config`, as it would be written; "" for an unknown one.
std::string show(const Config& config, std::string_view path);
// config/reference/config.md, from keys().
std::string reference_page();

}  // namespace rdmend::config
