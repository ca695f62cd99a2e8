// SPDX-License-Identifier: Apache-2.0
// The real rdmend, rdmendctl and Alertmanager on this machine, without RDMA: the devices are a tree of files.
#include <sys/stat.h>

#include <algorithm>

#include "e2e/daemon_bench.hpp"
#include "support/alertmanager.hpp"

using namespace rdmend::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a port goes down: the rule fires, a real Alertmanager hears of it and of its end") {
  DaemonBench b;
  Alertmanager alertmanager(b.scratch);
  b.configure("alertmanagers: [{url: \"" + alertmanager.url() + "\"}]\nexternal_url: http://host-17:9879\nremedies: {allow: [advise]}\n");
  b.start();
  CHECK(b.get("/-/healthy") == "rdmend is healthy.\n");

  const auto page = b.get("/metrics");
  write_file(b.scratch / "metrics", page);
  const auto checked = run_command("promtool check metrics < " + (b.scratch / "metrics") + " 2>&1");
  CHECK(checked.output.empty());
  CHECK(checked.status == 0);
  CHECK(has(page, "rdma_port_state{device=\"mlx5_0\",port=\"1\"} 4\n"));
  CHECK(has(page, "rdmend_mode{mode=\"observe\"} 1\n"));
  CHECK(has(page, "rdmend_rule_alerts{group=\"ports\",rule=\"PortDown\",state=\"firing\"} 0\n"));
  CHECK(b.state_of("PortDown").empty());

  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return b.state_of("PortDown") == "firing"; }));
  const auto told = [&] { return json::parse(run_command("curl -s -m 5 " + alertmanager.url() + "/api/v2/alerts").output, nullptr, false); };
  REQUIRE(eventually([&] { return told().is_array() && told().size() == 1; }));
  CHECK(told()[0]["labels"] == json({{"alertname", "PortDown"}, {"device", "mlx5_1"}, {"instance", "host-17"}, {"port", "1"}, {"severity", "critical"}}));
  CHECK(told()[0]["annotations"]["summary"] == "mlx5_1 is down");
  CHECK(told()[0]["generatorURL"] == "http://host-17:9879/api/v1/query?query=rdma_port_state%20%21%3D%204");

  const auto alerts = b.ctl("alerts");
  CHECK(alerts.status == 0);
  CHECK(has(alerts.output, "PortDown"));
  CHECK(has(alerts.output, "mlx5_1 is down"));
  const auto status = b.ctl("status");
  CHECK(status.status == 0);
  CHECK(has(status.output, "observe"));
  CHECK(has(status.output, "everything is decided and written down, nothing is changed"));
  CHECK(has(status.output, "1 firing, 1 pending"));
  CHECK(has(status.output, alertmanager.url() + ": 1 sent, 0 failed"));
  REQUIRE(eventually([&] { return has(b.ctl("explain PortDown").output, "advise"); }));
  const auto story = b.ctl("explain PortDown");
  INFO(story.output);
  CHECK(story.status == 0);
  CHECK(has(story.output, "PortDown watches: rdma_port_state != 4"));
  CHECK(has(story.output, "device=mlx5_1 port=1 severity=critical: has held since "));
  CHECK(has(story.output, "mlx5_1 is down"));
  CHECK(has(story.output, "The mode is observe"));

  b.sysfs.up("mlx5_1");
  REQUIRE(eventually([&] { return b.state_of("PortDown").empty(); }));
  REQUIRE(eventually([&] { return told().is_array() && told().empty(); }));
  CHECK(has(b.ctl("explain PortDown").output, "and is over since"));
  CHECK(b.stop() == 0);
}

TEST_CASE("C6: what fired and was over while the Alertmanager was away is told when it is back, and so is what still fires") {
  DaemonBench b;
  const auto port = free_port();
  const auto url = "http://127.0.0.1:" + std::to_string(port);
  b.configure("alertmanagers: [{url: \"" + url + "\"}]\n");
  b.start();
  const auto firing = [&] {
    const auto page = b.get("/metrics");
    for (const auto* count : {"0", "1", "2"})
      if (has(page, std::string("rdmend_rule_alerts{group=\"ports\",rule=\"PortDown\",state=\"firing\"} ") + count + "\n")) return *count - '0';
    return -1;
  };
  b.sysfs.down("mlx5_0");
  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return firing() == 2; }));
  REQUIRE(eventually([&] { return has(b.ctl("status").output, url + ": 0 sent, ") && !has(b.ctl("status").output, url + ": 0 sent, 0 failed"); }));
  b.sysfs.up("mlx5_1");
  REQUIRE(eventually([&] { return firing() == 1; }));

  const Alertmanager alertmanager(b.scratch, "alertmanager", port);
  const auto told = [&] { return json::parse(run_command("curl -s -m 5 " + url + "/api/v2/alerts").output, nullptr, false); };
  REQUIRE(eventually([&] { return told().is_array() && told().size() == 1; }));
  CHECK(told()[0]["labels"]["device"] == "mlx5_0");
  const auto received = [&](const std::string& status) {
    const auto page = run_command("curl -s -m 5 " + url + "/metrics").output;
    const auto series = "\nalertmanager_alerts_received_total{status=\"" + status + "\",version=\"v2\"} ";
    return has(page, series) && !has(page, series + "0\n");
  };
  CHECK(eventually([&] { return received("firing") && received("resolved"); }));
}

TEST_CASE("the API answers as Prometheus does") {
  DaemonBench b;
  b.start();
  REQUIRE(eventually([&] { return b.get_json("/api/v1/query?query=ports_up")["data"]["result"].size() == 1; }));

  auto vector = b.get_json("/api/v1/query?query=rdma_port_state%7Bdevice%3D%22mlx5_0%22%7D");
  CHECK(vector["status"] == "success");
  CHECK(vector["data"]["resultType"] == "vector");
  CHECK(vector["data"]["result"][0]["metric"] == json({{"__name__", "rdma_port_state"}, {"device", "mlx5_0"}, {"port", "1"}}));
  CHECK(vector["data"]["result"][0]["value"][1] == "4");
  CHECK(vector["data"]["result"][0]["value"][0].is_number());
  CHECK(b.get_json("/api/v1/query?query=1%2B1&time=1435781451.781") ==
        json::parse(R"({"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"2"]}})"));
  CHECK(b.get_json("/api/v1/query", "-d 'query=\"a\"' -d time=2015-07-01T20:10:51.781Z") ==
        json::parse(R"({"status":"success","data":{"resultType":"string","result":[1435781451.781,"a"]}})"));
  CHECK(b.get_json("/api/v1/query?query=rdma_port_state%5B1m%5D")["data"]["resultType"] == "matrix");

  const auto code = [&](const std::string& target) { return b.get(target, "-o /dev/null -w '%{http_code}'"); };
  auto bad = b.get_json("/api/v1/query?query=rat(x)");
  CHECK(bad["status"] == "error");
  CHECK(bad["errorType"] == "bad_data");
  CHECK(has(bad["error"], "invalid parameter \"query\": 1:1: parse error: unknown function"));
  CHECK(code("/api/v1/query?query=rat(x)") == "400");
  CHECK(b.get_json("/api/v1/query?query=1&time=soon")["error"] == "invalid parameter \"time\": Invalid time value for 'time': cannot parse \"soon\" to a valid timestamp");
  CHECK(b.get_json("/api/v1/query?query=1&timeout=soon")["error"] == "invalid parameter \"timeout\": cannot parse \"soon\" to a valid duration");
  CHECK(b.get_json("/api/v1/query?query=rdma_port_state%20*%20on()%20rdma_port_state")["errorType"] == "execution");
  CHECK(code("/api/v1/query?query=rdma_port_state%20*%20on()%20rdma_port_state") == "422");
  CHECK(code("/nowhere") == "404");
  CHECK(b.get("/metrics", "-X DELETE -o /dev/null -w '%{http_code}'") == "405");

  const auto answer = b.get_json("/api/v1/rules");
  const auto& rules = answer["data"]["groups"];
  REQUIRE(rules.size() == 1);
  CHECK(rules[0]["name"] == "ports");
  CHECK(rules[0]["file"] == b.rules());
  CHECK(rules[0]["interval"] == 1.0);
  CHECK(rules[0]["limit"] == 0);
  REQUIRE(rules[0]["rules"].size() == 3);
  const auto& first = rules[0]["rules"][0];
  CHECK(first["type"] == "alerting");
  CHECK(first["name"] == "PortDown");
  CHECK(first["query"] == "rdma_port_state != 4");
  CHECK(first["state"] == "inactive");
  CHECK(first["health"] == "ok");
  CHECK(first["duration"] == 0.0);
  CHECK(first["labels"] == json({{"severity", "critical"}}));
  CHECK(first["annotations"] == json({{"summary", "{{ $labels.device }} is down"}}));
  CHECK(first["alerts"] == json::array());
  CHECK(rules[0]["rules"][1]["duration"] == 600.0);
  CHECK(rules[0]["rules"][2]["type"] == "recording");
  CHECK(b.get_json("/api/v1/rules?type=record")["data"]["groups"][0]["rules"].size() == 1);

  b.sysfs.down("mlx5_0");
  REQUIRE(eventually([&] { return b.state_of("PortDown") == "firing"; }));
  const auto active = b.get_json("/api/v1/alerts");
  for (const auto& alert : active["data"]["alerts"]) {
    if (alert["labels"]["alertname"] != "PortDown") continue;
    CHECK(alert["value"] == "1e+00");
    CHECK(alert["annotations"]["summary"] == "mlx5_0 is down");
    CHECK(alert["activeAt"].get<std::string>().ends_with("Z"));
  }
}

TEST_CASE("what changes something is for the control socket, said in words elsewhere") {
  DaemonBench b;
  b.start();
  for (const auto* target : {"/-/reload", "/api/v1/mode", "/api/v1/undo", "/api/v1/breaker"}) {
    const auto refused = b.get_json(target, "-X POST");
    CHECK(refused["error"] == std::string(target) + " is served on the control socket only (" + b.socket() + ")");
    CHECK(b.get(target, "-X POST -o /dev/null -w '%{http_code}'") == "403");
  }
  CHECK(b.get_json("/api/v1/qps?deep=1")["errorType"] == "forbidden");
  struct stat info {};
  REQUIRE(stat(b.socket().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0660);

  const auto acting = b.ctl("mode act --for 1h");
  INFO(acting.output);
  CHECK(acting.status == 0);
  CHECK(has(acting.output, "mode is act (operator, "));
  CHECK(b.ctl("status --json").output.find("\"mode\": \"act\"") != std::string::npos);
  CHECK(b.ctl("mode observe").status == 0);
  const auto undo = b.ctl("undo 4711");
  CHECK(undo.status == 1);
  CHECK(undo.output.starts_with("rdmendctl: "));
  CHECK(b.ctl("breaker").status == 0);
  CHECK(b.ctl("breaker reset").status == 0);
  CHECK(b.ctl("mode act --for soon").status == 2);
  for (const auto* command : {"status", "alerts", "remedies", "events", "qps", "query 'vector(1)'", "explain PortDown", "mode observe", "breaker", "breaker reset"}) {
    const auto answer = b.ctl(std::string(command) + " --json");
    INFO(command << ": " << answer.output);
    CHECK(answer.status == 0);
    CHECK_FALSE(json::parse(answer.output, nullptr, false).is_discarded());
  }
  CHECK(json::parse(b.ctl("mode act --json").output)["mode"] == "act");
  CHECK(b.ctl("mode observe").output == "mode is observe (operator)\n");
  CHECK(json::parse(b.ctl("breaker --json").output)["open"] == false);
  const auto unknown_device = b.ctl("qps mlx5_7");
  CHECK(unknown_device.status == 1);
  CHECK(has(unknown_device.output, "rdmendctl: no queue pairs of a device 'mlx5_7' are known; 'rdmendctl status' lists the devices\n"));
  CHECK(b.ctl("explain PortDwn").output == "rdmendctl: there is no alerting rule 'PortDwn'; did you mean 'PortDown'?\n");
  CHECK(b.ctl("query 'rdma_port_state{device=\"mlx5_0\"}'").output.starts_with("rdma_port_state{device=\"mlx5_0\",port=\"1\"} => 4 @["));
  CHECK(b.ctl("query 'rate('").status == 1);
  CHECK(b.ctl("events").status == 0);
  CHECK(b.ctl("remedies").status == 0);
  CHECK(b.ctl("qps").status == 0);
  const auto deep = b.ctl("qps --deep --json");
  CHECK(deep.status == 0);
}

TEST_CASE("a good reload is applied whole, a bad one changes nothing and says why") {
  DaemonBench b;
  b.start();
  write_file(b.rules(), "groups:\n- name: g\n  rules:\n  - alert: X\n    exprr: up\n  - alert: Y\n    expr: rat(x)\n");
  const auto bad = b.ctl("reload");
  CHECK(bad.status == 1);
  CHECK(has(bad.output, b.rules() + ":5:5: error: "));
  CHECK(has(bad.output, b.rules() + ":7:11: error: "));
  CHECK(has(bad.output, "not reloaded: all goes on as it was\n"));
  CHECK(b.get_json("/api/v1/rules")["data"]["groups"][0]["name"] == "ports");
  CHECK(has(b.ctl("status").output, "the last reload failed"));
  CHECK(eventually([&] { return has(b.get("/metrics"), "rdmend_config_last_reload_successful 0\n"); }));

  write_file(b.rules(), "groups:\n- name: fresh\n  interval: 1s\n  rules:\n  - alert: Always\n    expr: vector(1)\n");
  const auto second = free_port();
  const auto first = b.port;
  b.port = second;
  b.configure("mode: act\n");
  const auto good = b.ctl("reload");
  INFO(good.output);
  CHECK(good.status == 0);
  CHECK(has(good.output, "reloaded: 1 rules of 1 files are in force"));
  CHECK(b.get_json("/api/v1/rules")["data"]["groups"][0]["name"] == "fresh");
  CHECK(run_command("curl -s -m 5 http://127.0.0.1:" + std::to_string(first) + "/-/healthy").status == 7);
  CHECK(eventually([&] { return b.state_of("Always") == "firing"; }));

  // SIGHUP does the same; an address that is taken keeps the old one.
  const Alertmanager blocker(b.scratch);
  REQUIRE(eventually([&] { return run_command("curl -s -m 5 " + blocker.url() + "/-/ready").status == 0; }));
  b.port = blocker.port();
  b.configure("");
  b.port = second;
  b.daemon->signal(SIGHUP);
  REQUIRE(eventually([&] { return has(b.log(), "Address already in use"); }));
  CHECK(b.get("/-/healthy") == "rdmend is healthy.\n");
  b.configure("state_directory: /elsewhere\n");
  b.configure("control_group: \"\"\nmode: observe\n");
  b.daemon->signal(SIGHUP);
  REQUIRE(eventually([&] { return b.get_json("/api/v1/status")["data"]["mode"] == "observe"; }));
  CHECK(b.stop() == 0);
}

TEST_CASE("G2: an end is orderly, and a restart keeps the time that an alert has been pending") {
  DaemonBench b;
  b.sysfs.down("mlx5_0");
  b.start();
  REQUIRE(eventually([&] { return b.state_of("PortDownLong") == "pending"; }));
  const auto active_at = [&] {
    const auto answer = b.get_json("/api/v1/alerts");
    for (const auto& alert : answer["data"]["alerts"])
      if (alert["labels"]["alertname"] == "PortDownLong") return alert["activeAt"].get<std::string>();
    return std::string();
  };
  const auto before = active_at();
  CHECK(b.stop() == 0);
  CHECK_FALSE(fs::exists(b.socket()));
  CHECK_FALSE(fs::exists(b.scratch / "http.sock"));
  b.start();
  REQUIRE(eventually([&] { return b.state_of("PortDownLong") == "pending"; }));
  // What it was down for does not count: the time is moved by as much, and never forward beyond now.
  CHECK(active_at() >= before);
  CHECK(active_at().substr(0, 16) >= before.substr(0, 16));

  // Killed, it leaves its sockets behind; the next one takes their place. A second one beside it is refused.
  b.daemon.reset();
  CHECK(fs::exists(b.socket()));
  b.start();
  const auto twin = run_command(kRdmend + " --config " + b.config() + " 2>&1");
  CHECK(twin.status == 1);
  CHECK(has(twin.output, "another process listens there"));
}

TEST_CASE("--check-config tells every fault and starts nothing") {
  DaemonBench b;
  const auto check = [&] { return run_command(kRdmend + " --check-config --config " + b.config() + " 2>&1"); };
  CHECK(check().output == b.config() + ": good, and 1 rule file\n");
  CHECK(check().status == 0);
  b.configure("mod: act\n");
  write_file(b.rules(), "groups:\n- name: g\n  rules:\n  - alert: X\n    expr: up\n    remedy:\n    - raise_min_rnr_timr: {}\n    - advise: {abut: timeout}\n");
  const auto bad = check();
  CHECK(bad.status == 1);
  INFO(bad.output);
  CHECK(has(bad.output, b.config() + ":7:1: error: unknown key 'mod'; did you mean 'mode'?\n"));
  CHECK(has(bad.output, b.rules() + ":7:7: error: "));
  CHECK(has(bad.output, "did you mean 'raise_min_rnr_timer'?"));
  CHECK(has(bad.output, "did you mean 'about'?"));
  CHECK_FALSE(fs::exists(b.socket()));
  CHECK(run_command(kRdmend + " --check-config --config /nowhere.yaml 2>&1").output == "/nowhere.yaml: error: cannot be read: No such file or directory; another file is given with --config\n");
}

TEST_CASE("G5: a rule on a series that nothing has is warned of wherever rules are read") {
  DaemonBench b;
  const std::string warning = b.rules() + ":4:5: warning: the rule 'X' reads 'rdma_port_stat', which rdmend does not have; did you mean 'rdma_port_state'?\n";
  const std::string rules = "groups:\n- name: g\n  rules:\n  - {alert: X, expr: rdma_port_stat < 4}\n";
  write_file(b.rules(), rules);
  const auto checked = run_command(kRdmend + " --check-config --config " + b.config() + " 2>&1");
  CHECK(checked.status == 0);
  CHECK(checked.output == warning + b.config() + ": good, and 1 rule file\n");
  b.start();
  CHECK(has(b.log(), warning));
  const auto reloaded = b.ctl("reload --json");
  CHECK(reloaded.status == 0);
  const auto answer = json::parse(reloaded.output);
  CHECK(answer["good"] == true);
  CHECK(answer["messages"][0].get<std::string>() + "\n" == warning);
  CHECK(answer["messages"].size() == 2);
}

TEST_CASE("a rule that cannot be evaluated is told once, alarmed, and hides no other") {
  DaemonBench b;
  write_file(b.rules(), slurp(RDMEND_SOURCE_DIR "/config/rules.d/honesty.yaml") + R"(- name: faulty
  interval: 1s
  rules:
  - {alert: Faulty, expr: rdma_port_state / on (port) rdma_port_state > 0}
  - {alert: PortDown, expr: rdma_port_state != 4}
)");
  b.start();
  b.sysfs.down("mlx5_1");
  REQUIRE(eventually([&] { return b.state_of("PortDown") == "firing" && b.state_of("RdmendRuleFailing") == "firing"; }));
  const auto told = b.log();
  const auto line = told.find("Faulty cannot be evaluated: ");
  REQUIRE(line != std::string::npos);
  CHECK(told.find("cannot be evaluated", line + 20) == std::string::npos);
  CHECK(has(b.ctl("status").output, "; 1 failing"));
  CHECK(has(b.ctl("status").output, "Faulty cannot be evaluated: "));
  CHECK(b.stop() == 0);
}

TEST_CASE("command lines that are wrong are told so") {
  const auto says = [&](const std::string& arguments, const std::string& what) {
    const auto result = run_command(kRdmend + " " + arguments + " 2>&1");
    CHECK(result.status == 2);
    CHECK(result.output == "rdmend: " + what + "\nsee 'rdmend --help'\n");
  };
  says("--confg x", "unknown option '--confg'; did you mean '--config'?");
  says("--no-such-thing", "unknown option '--no-such-thing'; legal are: --help, --version, --config, --check-config, --hand");
  says("rdmend.yaml", "'rdmend.yaml' is one word too many; a value with blanks needs quotes");
  says("--config", "--config needs a value");
  const std::string hand = RDMEND_BINARY_DIR "/daemon/hand/rdmend-hand";
  CHECK(run_command(hand + " --help").status == 0);
  CHECK(has(run_command(hand + " --help").output, "people have no use for it"));
  CHECK(run_command(hand + " --version").output.starts_with("rdmend-hand "));
  CHECK(run_command(hand + " --fd x 2>/dev/null").status == 2);
  CHECK(run_command(hand + " 3</dev/null 2>&1").output ==
        "rdmend-hand: descriptor 3 is no SOCK_SEQPACKET socket: rdmend or rdmend-hand.socket starts this program\n");
  const auto away = run_command(kCtl + " --socket /nowhere/control.sock status 2>&1");
  CHECK(away.status == 3);
  CHECK(away.output ==
        "rdmendctl: cannot reach rdmend at /nowhere/control.sock: No such file or directory; is it running? 'systemctl status rdmend' tells; another "
        "socket is given with --socket\n");
}

TEST_CASE("a host without devices is a normal state, and one that comes is watched") {
  DaemonBench b;
  fs::remove_all(b.sysfs.root());
  fs::create_directories(b.sysfs.root() + "/class/infiniband");
  b.start();
  CHECK(b.get_json("/api/v1/status")["data"]["devices"].empty());
  CHECK(has(b.get("/metrics"), "rdmend_devices 0\n"));
  b.sysfs.add("mlx5_7");
  CHECK(eventually([&] { return b.get_json("/api/v1/status")["data"]["devices"].size() == 1; }));
  CHECK(eventually([&] { return has(b.get("/metrics"), "rdma_port_state{device=\"mlx5_7\",port=\"1\"} 4\n"); }));
  CHECK(has(b.ctl("events").output, "mlx5_7"));
}

TEST_CASE("A15: the configuration chooses the raw counters that are told, anew at each reload; what they mean is told all the same") {
  DaemonBench b;
  b.configure("raw_counters: {exclude: [\"rnr_.*\"]}\n");
  b.start();
  const std::string raw = "rdma_raw_total{device=\"mlx5_0\",name=\"";
  const std::string naks = "rdma_rnr_naks_received_total{device=\"mlx5_0\",port=\"1\"} 7\n";
  auto page = b.get("/metrics");
  CHECK(has(page, raw + "out_of_sequence\""));
  CHECK_FALSE(has(page, raw + "rnr_nak_retry_err\""));
  CHECK(has(page, "rdma_raw_series_dropped{device=\"mlx5_0\",port=\"1\"} 1\n"));
  CHECK(has(page, naks));

  b.configure("raw_counters: {include: [\"rnr_.*\"]}\n");
  REQUIRE(b.ctl("reload").status == 0);
  REQUIRE(eventually([&] { return has(page = b.get("/metrics"), "rdma_raw_series_dropped{device=\"mlx5_0\",port=\"1\"} 3\n"); }));
  CHECK(has(page, raw + "rnr_nak_retry_err\""));
  CHECK_FALSE(has(page, raw + "out_of_sequence\""));
  CHECK_FALSE(has(page, raw + "port_xmit_data\""));
  CHECK(has(page, naks));
}

TEST_CASE("A20: one device of 16 hangs: a scrape takes under 50 ms and has the other 15 whole, and the end waits for nobody") {
  DaemonBench b;
  for (int i = 2; i < 16; ++i) b.sysfs.add("mlx5_" + std::to_string(i));
  const auto hung = b.sysfs.port("mlx5_3") + "/hw_counters/out_of_sequence";
  fs::remove(hung);
  REQUIRE(mkfifo(hung.c_str(), 0600) == 0);  // who opens it to read waits for a writer that never comes
  b.start();
  REQUIRE(eventually([&] { return has(b.get("/metrics"), "rdma_device_stale{device=\"mlx5_3\"} 1\n"); }));
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    times.push_back(std::stod(b.get("/metrics", "-o " + (b.scratch / "page") + " -w '%{time_total}'")));
    const auto page = slurp(b.scratch / "page");
    for (int device = 0; device < 16; ++device) {
      const auto labels = "{device=\"mlx5_" + std::to_string(device) + "\",port=\"1\"}";
      CAPTURE(labels);
      CHECK(has(page, "rdma_port_state" + labels + " 4\n") == (device != 3));
      CHECK(has(page, "rdma_rnr_naks_received_total" + labels + " 7\n") == (device != 3));
    }
  }
  std::sort(times.begin(), times.end());
  CAPTURE(times);
  CHECK(times[times.size() / 2] < 0.050);  // of a busy machine, the median
  b.sysfs.down("mlx5_15");
  CHECK(eventually([&] { return b.state_of("PortDown") == "firing"; }));
  const auto before = std::chrono::steady_clock::now();
  CHECK(b.stop() == 0);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds{5});
}
