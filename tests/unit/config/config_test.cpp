// SPDX-License-Identifier: Apache-2.0
#include "config/config.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

using namespace rdmend;
using config::Config;

namespace {

std::string faults(const std::string& text, const std::string& file = "rdmend.yaml") {
  Diagnostics diagnostics;
  config::parse(file, text, "host-17", diagnostics);
  return diagnostics.text();
}

Config good(const std::string& text, const std::string& file = "rdmend.yaml") {
  Diagnostics diagnostics;
  Config out = config::parse(file, text, "host-17", diagnostics);
  INFO(diagnostics.text());
  REQUIRE(diagnostics.all().empty());
  return out;
}

}  // namespace

TEST_CASE("an empty file is the defaults") {
  const Config c = good("");
  CHECK(c.mode == config::Mode::observe);
  REQUIRE(c.listen.size() == 2);
  CHECK(c.listen[0].host == "::");
  CHECK(c.listen[0].port == 9879);
  CHECK(c.listen[1].path == "/run/rdmend/http.sock");
  CHECK(c.external_labels == Labels{{"instance", "host-17"}});
  CHECK(c.remedies.allow.empty());
  CHECK(good("# nothing\n").sampling.interval == milliseconds{1000});
}

TEST_CASE("every key is read") {
  const Config c = good(R"(
mode: act
devices: {include: ["mlx5_.*"], exclude: [mlx5_bond_0]}
raw_counters: {include: ["[a-z].*"], exclude: ["SDma.*"]}
listen: ["127.0.0.1:9879", "[::1]:0", "unix:/tmp/x.sock"]
control_socket: /tmp/c.sock
control_group: rdma
state_directory: /tmp/state
paths: {sysfs: /tmp/sys, proc: /tmp/proc}
rule_files: [rules/*.yaml, /abs/*.yaml]
alertmanagers:
- {url: "http://alertmanager:9093/", timeout: 2s, basic_auth: {username: u, password: p}}
- {url: "https://[fd00::1]:9093/prefix", tls: {insecure_skip_verify: true}}
external_labels: {cluster: blue}
external_url: http://host-17:9879
notifications: {resend: 30s, queue: 5}
remedies:
  allow: [advise, run_hook]
  budget: {qp: {burst: 1, refill: 1s}, process: {burst: 2, refill: 2s}, host: {burst: 3, refill: 3s}}
  settle: 5s
  hold: 6s
  hold_down: 7s
  hold_down_max: 8s
  breaker: {share: 0.25, least: 3, window: 9s}
metrics: {per_qp: true, max_series: 100, node_exporter_names: true}
sampling: {interval: 100ms, counters_interval: 1s, qp_interval: 2s, deadline: 3s, qp_cap: 4}
store: {max_bytes: 128MiB}
query: {max_samples: 1000, timeout: 10ms}
rules: {evaluation_interval: 5s}
log_level: debug
)", "/etc/rdmend/rdmend.yaml");
  CHECK(c.mode == config::Mode::act);
  CHECK(c.devices.include == std::vector<std::string>{"mlx5_.*"});
  CHECK(c.devices.exclude == std::vector<std::string>{"mlx5_bond_0"});
  CHECK(c.raw_counters.include == std::vector<std::string>{"[a-z].*"});
  CHECK(c.raw_counters.exclude == std::vector<std::string>{"SDma.*"});
  CHECK(c.listen[0].host == "127.0.0.1");
  CHECK(c.listen[1].host == "::1");
  CHECK(c.listen[2].path == "/tmp/x.sock");
  CHECK(c.control_group == "rdma");
  CHECK(c.paths.proc == "/tmp/proc");
  CHECK(c.rule_files == std::vector<std::string>{"/etc/rdmend/rules/*.yaml", "/abs/*.yaml"});
  CHECK(c.alertmanagers[0].url == "http://alertmanager:9093");
  CHECK(c.alertmanagers[0].timeout == milliseconds{2000});
  CHECK(c.alertmanagers[0].basic_auth->password == "p");
  CHECK(c.alertmanagers[1].insecure_skip_verify);
  CHECK(c.external_labels == Labels{{"cluster", "blue"}, {"instance", "host-17"}});
  CHECK(c.external_url == "http://host-17:9879");
  CHECK(c.notifications.queue == 5);
  CHECK(c.remedies.allow == std::vector<std::string>{"advise", "run_hook"});
  CHECK(c.remedies.qp.refill == milliseconds{1000});
  CHECK(c.remedies.process.burst == 2);
  CHECK(c.remedies.host.burst == 3);
  CHECK(c.remedies.hold_down_max == milliseconds{8000});
  CHECK(c.remedies.breaker_share == 0.25);
  CHECK(c.remedies.breaker_window == milliseconds{9000});
  CHECK(c.metrics.per_qp);
  CHECK(c.metrics.node_exporter_names);
  CHECK(c.sampling.qp_cap == 4);
  CHECK(c.store.max_bytes == 128U << 20U);
  CHECK(c.query.timeout == milliseconds{10});
  CHECK(c.rules.evaluation_interval == milliseconds{5000});
  CHECK(c.log_level == "debug");
}

TEST_CASE("G4: all the faults of a file, unknown keys among them, are told at once, each where it is") {
  CHECK(faults(R"(mode: acting
devices:
  includ: [".*"]
  exclude: ["mlx5_["]
listen: ["9879", "[::]:99999", "::1:80", "unix:x", "host:1", 7, "127.0.0.1:1", "127.0.0.1:1"]
control_socket: run/x
rule_files: ["", "/a[b"]
alertmanagers:
- {url: "alertmanager:9093"}
- {timeout: 5, uri: x}
- {url: "http://u:p@h", basic_auth: {password: a, password_file: /nowhere/at/all}, tls: {cert_file: /c}}
external_labels: {0x: a, ok: [1], __name__: b}
remedies: {allow: [raise_rnr_timer, everything], units: [opensm], hold_down: 2h, budget: {qp: {burst: 0}}}
metrics: {per_qp: yes}
sampling: {interval: 5ms, qp_cap: many}
store: {max_bytes: 64MB}
query: [1]
loglevel: info
mode: observe
)") == R"(rdmend.yaml:19:1: error: duplicate key 'mode'; it stands already at line 1
rdmend.yaml:1:7: error: mode: 'acting' is not known; legal are: observe, act
rdmend.yaml:3:3: error: unknown key 'devices.includ'; did you mean 'include'?
rdmend.yaml:4:13: error: devices.exclude: 'mlx5_[' is not a regular expression: missing ]: [; RE2's syntax, matched against the whole name: mlx5_.*
rdmend.yaml:5:10: error: listen: '9879': the port is missing; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:18: error: listen: '[::]:99999': '99999' is not a port (0 to 65535); write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:32: error: listen: '::1:80': '::1' is not an IP address (IPv6 stands in brackets); write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:42: error: listen: 'unix:x': the path of a unix socket must be absolute; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:52: error: listen: 'host:1': 'host' is not an IP address; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:62: error: listen: '7': the port is missing; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock
rdmend.yaml:5:80: error: listen: '127.0.0.1:1' is given twice
rdmend.yaml:6:17: error: control_socket: 'run/x' is not an absolute path; it must begin with '/'
rdmend.yaml:7:14: error: rule_files: '' is not a file pattern; write it like /etc/rdmend/rules.d/*.yaml
rdmend.yaml:7:18: error: rule_files: '/a[b' is not a file pattern; write it like /etc/rdmend/rules.d/*.yaml
rdmend.yaml:9:9: error: alertmanagers.url: 'alertmanager:9093' is not a URL of a server; write it like http://host:9093 or https://host/path
rdmend.yaml:10:13: error: alertmanagers.timeout: '5' is not a duration; a duration is written like 250ms, 30s or 1h30m
rdmend.yaml:10:16: error: unknown key 'uri'; did you mean 'url'?
rdmend.yaml:10:3: error: alertmanagers: url is missing
rdmend.yaml:11:9: error: alertmanagers.url: 'http://u:p@h' is not a URL of a server; credentials stand in basic_auth, not in the URL
rdmend.yaml:11:51: error: both password and password_file are given; give one of them
rdmend.yaml:11:66: error: basic_auth.password_file: /nowhere/at/all: No such file or directory
rdmend.yaml:11:25: error: basic_auth: username is missing
rdmend.yaml:11:101: error: tls.cert_file: /c: No such file or directory
rdmend.yaml:11:84: error: tls: cert_file and key_file go together
rdmend.yaml:12:19: error: external_labels: '0x' is not a label name; letters, digits and '_', not beginning with a digit
rdmend.yaml:12:30: error: external_labels.ok: expected a single value, found a list
rdmend.yaml:12:35: error: external_labels: '__name__' is not a label name; letters, digits and '_', not beginning with a digit
rdmend.yaml:13:20: error: remedies.allow: 'raise_rnr_timer' is not known; did you mean 'raise_min_rnr_timer'?
rdmend.yaml:13:37: error: remedies.allow: 'everything' is not known; legal are: raise_min_rnr_timer, refresh_neighbour, run_hook, restart_unit, advise
rdmend.yaml:13:58: error: remedies.units: 'opensm' is not the name of a unit with its suffix; write it like opensm.service
rdmend.yaml:13:103: error: remedies.budget.qp.burst: 0 is out of range; legal is 1 to 1000000
rdmend.yaml:14:19: error: metrics.per_qp: 'yes' is not a boolean; legal are: true, false
rdmend.yaml:15:22: error: sampling.interval: 5ms is out of range; legal is 10ms to 1h
rdmend.yaml:15:35: error: sampling.qp_cap: 'many' is not a whole number
rdmend.yaml:16:20: error: store.max_bytes: '64MB' is not a size; a size is written like 64MiB, 512KiB or 1048576
rdmend.yaml:17:8: error: query: expected a map, found a list
rdmend.yaml:18:1: error: unknown key 'loglevel'; did you mean 'log_level'?
rdmend.yaml:13:78: error: remedies.hold_down (2h) is longer than remedies.hold_down_max (1h)
)");
}

TEST_CASE("what a later version brings is refused by name") {
  CHECK(faults("agent_socket: /run/x\npeers: []\nrecovery: {drivers: [rxe]}\n") ==
        "rdmend.yaml:1:1: error: agent_socket: not in this version: there is no in-process agent yet; remove it\n"
        "rdmend.yaml:2:1: error: peers: not in this version: daemons do not talk to each other yet; remove it\n"
        "rdmend.yaml:3:1: error: recovery: not in this version: connections are not recovered yet; remove it\n");
}

TEST_CASE("mode act that allows nothing is a warning") {
  CHECK(faults("mode: act\n") == "rdmend.yaml:1:7: warning: mode: act allows nothing, for remedies.allow is empty; name the kinds in remedies.allow\n");
}

TEST_CASE("the instance label can be left out, and any null section is an empty one") {
  CHECK(good("external_labels: {instance: \"\"}").external_labels.empty());
  CHECK(good("external_labels: {instance: x}").external_labels == Labels{{"instance", "x"}});
  CHECK(good("alertmanagers:\ndevices:\n  exclude:\n").devices.include.size() == 1);
}

TEST_CASE("wrong kinds of documents") {
  CHECK(faults("[a]") == "rdmend.yaml:1:1: error: the configuration: expected a map, found a list\n");
  CHECK(faults("just words") == "rdmend.yaml:1:1: error: the configuration: expected a map, found a single value\n");
  CHECK(faults("mode: {a: [").find("not valid YAML") != std::string::npos);
}

TEST_CASE("a password comes from its file, without the newline") {
  const std::string path = std::string(RDMEND_BINARY_DIR) + "/config_test_password";
  std::ofstream(path) << "secret\n";
  const Config c = good("alertmanagers: [{url: \"http://a:1\", basic_auth: {username: u, password_file: \"" + path + "\"}}]");
  CHECK(c.alertmanagers[0].basic_auth->password == "secret");
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(faults("alertmanagers: [{url: \"http://a:1\", basic_auth: {username: u, password_file: \"" + path + "\"}}]").find("longer than 4096 bytes") != std::string::npos);
  std::remove(path.c_str());
}

TEST_CASE("random bytes and cut files never do harm") {
  std::ifstream in(std::string(RDMEND_SOURCE_DIR) + "/config/rdmend.yaml");
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(whole.size() > 1000);
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) faults(whole.substr(0, cut));
  std::uint32_t seed = 7;
  for (int round = 0; round < 500; ++round) {
    std::string bent = whole;
    for (int i = 0; i < 5; ++i) {
      seed = seed * 1664525 + 1013904223;
      bent[seed % bent.size()] = static_cast<char>(seed >> 24U);
    }
    faults(bent);
  }
  SUCCEED();
}
