// SPDX-License-Identifier: Apache-2.0
// The API as Prometheus has it, asked by the real promtool and judged by the real Prometheus; sockets, TLS and passwords of the whole daemon.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "e2e/daemon_bench.hpp"
#include "support/certificates.hpp"

using namespace rdmend::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A real Prometheus that holds nothing but what `jobs` scrape.
struct Prometheus {
  explicit Prometheus(const ScratchDirectory& in, const std::string& jobs = "")
      : port(free_port()),
        child({"prometheus", "--config.file=" + config(in, jobs), "--storage.tsdb.path=" + (in / "tsdb"), "--web.listen-address=127.0.0.1:" + std::to_string(port)},
              in / "prometheus.log") {
    REQUIRE(eventually([&] { return run_command("curl -s -m 5 -o /dev/null -w '%{http_code}' " + url() + "/-/ready").output == "200"; }));
  }
  static std::string config(const ScratchDirectory& in, const std::string& jobs) {
    write_file(in / "prometheus.yml", jobs.empty() ? "scrape_configs: []\n" : "scrape_configs:\n" + jobs + "\n");
    return in / "prometheus.yml";
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port); }
  std::uint16_t port;
  Child child;
};

// Status and body.
std::string answer_of(const std::string& url, const std::string& request) {
  return run_command("curl -s -g -m 20 -w ' %{http_code}' '" + url + request + "'").output;
}

// A listening socket, blocking and inheritable as a stranger would make it.
int listening(int family, const void* address, socklen_t length) {
  const int fd = socket(family, SOCK_STREAM, 0);
  REQUIRE(bind(fd, static_cast<const sockaddr*>(address), length) == 0);
  REQUIRE(listen(fd, 16) == 0);
  return fd;
}

}  // namespace

TEST_CASE("promtool queries rdmend as it queries Prometheus") {
  DaemonBench b;
  b.start();
  REQUIRE(eventually([&] { return b.get_json("/api/v1/query?query=ports_up")["data"]["result"].size() == 1; }));
  const auto url = "http://127.0.0.1:" + std::to_string(b.port);
  const auto promtool = [&](const std::string& arguments) {
    const auto result = run_command("promtool query " + arguments + " 2>&1");
    INFO(arguments << ": " << result.output);
    CHECK(result.status == 0);
    return result.output;
  };
  CHECK(promtool("instant " + url + " 'rdma_port_state{device=\"mlx5_0\"}'").starts_with("rdma_port_state{device=\"mlx5_0\", port=\"1\"} => 4 @["));
  CHECK(promtool("instant --time=1435781451.5 " + url + " 1+1") == "scalar: 2 @[1435781451.5]\n");
  CHECK(promtool("range --start=100 --end=130 --step=10s " + url + " 'vector(time())'") == "{} =>\n100 @[100]\n110 @[110]\n120 @[120]\n130 @[130]\n");
  const auto now = std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  CHECK(has(promtool("range --start=" + now + " --end=" + now + ".5 --step=1s " + url + " 'rdma_port_state{device=\"mlx5_0\"}'"),
            "rdma_port_state{device=\"mlx5_0\", port=\"1\"} =>\n4 @[" + now + "]\n"));
  CHECK(promtool("series --match='rdma_port_state' --match='{__name__=\"rdma_port_state\",device=~\"mlx5_.*\"}' " + url) ==
        "{__name__=\"rdma_port_state\", device=\"mlx5_0\", port=\"1\"}\n{__name__=\"rdma_port_state\", device=\"mlx5_1\", port=\"1\"}\n");
  CHECK(promtool("labels " + url + " device") == "mlx5_0\nmlx5_1\n");
  CHECK(promtool("labels --match='rdma_port_state' " + url + " __name__") == "rdma_port_state\n");
  CHECK(promtool("labels --start=1 --end=2 " + url + " __name__").empty());
  const auto wrong = run_command("promtool query instant " + url + " 'rat(x)' 2>&1");
  CHECK(wrong.status == 1);
  CHECK(has(wrong.output, "unknown function"));

  CHECK(b.get_json("/api/v1/labels?match[]=rdma_port_state")["data"] == json({"__name__", "device", "port"}));
  CHECK(b.get_json("/api/v1/labels", "-d match[]=rdma_port_state -d start=0")["data"] == json({"__name__", "device", "port"}));
  CHECK(b.get_json("/api/v1/series", "-d match[]=rdma_port_state -d limit=1") ==
        json::parse(R"({"status":"success","data":[{"__name__":"rdma_port_state","device":"mlx5_0","port":"1"}],"warnings":["results truncated due to limit"]})"));
  CHECK(b.get_json("/api/v1/label/device/values?limit=2") == json::parse(R"({"status":"success","data":["mlx5_0","mlx5_1"]})"));
  CHECK(b.get_json("/api/v1/query?query=rdma_port_state&limit=1")["data"]["result"].size() == 1);
  CHECK(b.get_json("/api/v1/query_range", "-d query=rdma_port_state -d limit=1 -d step=1 -d start=" + now + " -d end=" + now)["warnings"].size() == 1);
  CHECK(b.get_json("/api/v1/query?query=1&limit=x")["error"] == "invalid parameter \"limit\": \"x\" is not a whole number");
  // What a query costs is bounded where it is evaluated.
  const auto late = b.get_json("/api/v1/query_range?query=count_over_time(rdma_port_state[1h:1ms])&start=0&end=10000&step=1");
  CHECK(late["status"] == "error");
  CHECK((late["errorType"] == "timeout" || late["errorType"] == "execution"));
}

TEST_CASE("where Prometheus has nothing to add, the answers are Prometheus' own, faults and all") {
  DaemonBench b;
  b.start();
  const Prometheus prometheus(b.scratch);
  const auto url = "http://127.0.0.1:" + std::to_string(b.port);
  for (const std::string request : {
           "/api/v1/query?query=1%2B1&time=1435781451.781",
           "/api/v1/query?query=vector(1.5)&time=2015-07-01T20:10:51.781Z",
           "/api/v1/query?query=%22a%22&time=1",
           "/api/v1/query?query=vector(NaN)&time=0.001",
           "/api/v1/query?query=nothing&time=1",
           "/api/v1/query?query=nothing[5m]&time=1",
           "/api/v1/query?query=1&time=soon",
           "/api/v1/query?query=1&time=1&timeout=soon",
           "/api/v1/query?query=1&time=1&timeout=-1x",
           "/api/v1/query?query=1&time=5&query=2",
           "/api/v1/query?query=1%20and%20vector(1)&time=-292273086-05-16T16:47:06Z&timeout=x",
           "/api/v1/query_range?query=vector(time())&start=0&end=10&step=5",
           "/api/v1/query_range?query=1.25&start=1.5&end=3&step=500ms",
           "/api/v1/query_range?query=nothing&start=0&end=10&step=5s",
           "/api/v1/query_range?query=1&start=0&end=11000&step=1",
           "/api/v1/query_range?query=1&start=0&end=11001&step=1",
           "/api/v1/query_range?query=1&start=0&end=11000.5&step=1",
           "/api/v1/query_range?query=1&end=10&step=5",
           "/api/v1/query_range?query=1&start=0&step=5",
           "/api/v1/query_range?query=1&start=0&end=10",
           "/api/v1/query_range?query=1&start=0&end=10&step=0",
           "/api/v1/query_range?query=1&start=0&end=10&step=-1",
           "/api/v1/query_range?query=1&start=0&end=10&step=x",
           "/api/v1/query_range?query=1&start=0&end=10&step=5&timeout=x",
           "/api/v1/query_range?query=1&start=10&end=0&step=5",
           "/api/v1/series",
           "/api/v1/series?match[]={}",
           "/api/v1/series?match[]={x=%22%22}",
           "/api/v1/series?match[]=nothing",
           "/api/v1/series?match[]=nothing&start=-292273086-05-16T16:47:06Z&end=292277025-08-18T07:12:54.999999999Z",
           "/api/v1/series?match[]=nothing&start=x",
           "/api/v1/series?match[]=nothing&end=x",
           "/api/v1/series?match[]={}&start=x",
           "/api/v1/labels?match[]=nothing",
           "/api/v1/labels?match[]={}",
           "/api/v1/labels?start=x",
           "/api/v1/label/job/values?match[]=nothing",
           "/api/v1/label/job/values?match[]={}",
           "/api/v1/label/job/values?end=x",
           "/api/v1/label/0x/values",
           "/api/v1/label/a-b/values?start=x",
       }) {
    INFO(request);
    const auto split_off = [](const std::string& text) {
      const auto space = text.rfind(' ');
      return std::pair(text.substr(space + 1), json::parse(text.substr(0, space), nullptr, false));
    };
    const auto [status, body] = split_off(answer_of(url, request));
    const auto [their_status, their_body] = split_off(answer_of(prometheus.url(), request));
    CHECK(status == their_status);
    CHECK(body == their_body);
  }
}

TEST_CASE("a range query of what has no value at a time says the parameter, as Prometheus 3 does and 2 does not") {
  DaemonBench b;
  b.start();
  const auto error = [&](const std::string& query) { return b.get_json("/api/v1/query_range?start=0&end=10&step=5&query=" + query)["error"]; };
  CHECK(error("nothing[5m]") == "invalid parameter \"query\": invalid expression type \"range vector\" for range query, must be Scalar or instant Vector");
  CHECK(error("%22a%22") == "invalid parameter \"query\": invalid expression type \"string\" for range query, must be Scalar or instant Vector");
  CHECK(error("rat(x)").get<std::string>().starts_with("invalid parameter \"query\": 1:1: parse error: "));
}

TEST_CASE("sockets that were passed are served where listen has their addresses, and no others") {
  DaemonBench b;
  sockaddr_in first{}, second{};
  first.sin_family = second.sin_family = AF_INET;
  first.sin_addr.s_addr = second.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  first.sin_port = htons(b.port);
  second.sin_port = htons(free_port());
  sockaddr_un local{}, control{};
  local.sun_family = control.sun_family = AF_UNIX;
  (b.scratch / "http.sock").copy(local.sun_path, sizeof local.sun_path - 1);
  b.socket().copy(control.sun_path, sizeof control.sun_path - 1);
  const int fds[] = {listening(AF_INET, &first, sizeof first), listening(AF_UNIX, &local, sizeof local), listening(AF_INET, &second, sizeof second),
                     listening(AF_UNIX, &control, sizeof control), socket(AF_INET, SOCK_DGRAM, 0)};
  // As systemd does it: from descriptor 3 on, and said in the environment.
  b.before_exec = [&] {
    int moved[5]{};
    for (int i = 0; i < 5; ++i) moved[i] = fcntl(fds[i], F_DUPFD, 50);
    for (int i = 0; i < 5; ++i) dup2(moved[i], 3 + i);
    setenv("LISTEN_FDS", "5", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  };
  b.start();
  CHECK(b.get("/-/healthy") == "rdmend is healthy.\n");
  const auto by_unix = "curl -s -m 10 --unix-socket " + (b.scratch / "http.sock") + " http://x/-/healthy";
  CHECK(run_command(by_unix).output == "rdmend is healthy.\n");
  CHECK(b.ctl("status").status == 0);
  CHECK(has(b.log(), "a socket that was passed is not served: listen has no such address"));
  CHECK(has(b.log(), "address=127.0.0.1:" + std::to_string(ntohs(second.sin_port))));
  CHECK(has(b.log(), "a descriptor that was passed is no listening stream socket"));
  CHECK(run_command("curl -s -m 1 http://127.0.0.1:" + std::to_string(ntohs(second.sin_port)) + "/-/healthy").output.empty());

  // Left out by a reload and named again by the next, it is served as before: it cannot be bound anew.
  b.listen = "[\"unix:" + (b.scratch / "http.sock") + "\"]";
  b.configure("");
  CHECK(b.ctl("reload").status == 0);
  b.listen = "";
  b.configure("");
  const auto again = b.ctl("reload");
  INFO(again.output);
  CHECK(again.status == 0);
  CHECK(b.get("/-/healthy") == "rdmend is healthy.\n");

  // They are the other's: at the end they are left where they are, and a next life is reached through them, what came in between included.
  CHECK(b.stop() == 0);
  CHECK(fs::exists(b.scratch / "http.sock"));
  b.start();
  CHECK(run_command(by_unix).output == "rdmend is healthy.\n");
  for (const int fd : fds) close(fd);
}

TEST_CASE("systemd finds nothing wrong with the units, and finds them little exposed") {
  const ScratchDirectory units("units");
  fs::copy_file(RDMEND_SOURCE_DIR "/systemd/rdmend.socket", units / "rdmend.socket");
  // The services are the installed ones but for the programs, which are not installed here.
  const auto install = [&](const std::string& name, const std::string& real) {
    auto service = slurp(RDMEND_BINARY_DIR "/systemd/" + name);
    const auto program = service.find("ExecStart=") + 10;
    service.replace(program, service.find_first_of(" \n", program) - program, real);
    write_file(units / name, service);
  };
  install("rdmend.service", kRdmend);
  install("rdmend-hand@.service", RDMEND_BINARY_DIR "/daemon/hand/rdmend-hand");
  fs::create_directory(units / "rdmend-hand@.service.d");
  fs::copy_file(RDMEND_SOURCE_DIR "/systemd/rdmend-hand-raise_min_rnr_timer.conf", units / "rdmend-hand@.service.d/raise_min_rnr_timer.conf");
  const auto verified = run_command("systemd-analyze --man=no verify " + (units / "rdmend.socket") + " 2>&1");
  CHECK(verified.output.empty());
  CHECK(verified.status == 0);
  for (const std::string name : {"rdmend.service", "rdmend-hand@.service"}) {
    const auto judged = run_command("systemd-analyze security --no-pager --offline=true --threshold=20 " + (units / name) + " 2>&1");
    INFO(judged.output);
    CHECK(judged.status == 0);
    CHECK(has(judged.output, "Overall exposure level for rdmend"));
  }
}

TEST_CASE("HTTPS with client certificates and a password; a reload takes new files up") {
  DaemonBench b;
  const Certificates files;
  files.write("password", "first\n");
  b.listen = "[{address: \"[::]:" + std::to_string(b.port) + "\", tls: {cert: " + files.file("server.pem") + ", key: " + files.file("server.key") + ", client_ca: " +
             files.file("ca.pem") + "}, basic_auth: {username: prometheus, password_file: " + files.file("password") + "}}]";
  b.configure("");
  b.scheme = "https";
  const auto shown = "--cacert " + files.file("ca.pem") + " --cert " + files.file("client.pem") + " --key " + files.file("client.key");
  b.curl = shown + " -u prometheus:first";
  b.start();
  CHECK(has(b.get("/metrics", "--compressed"), "rdma_port_state{device=\"mlx5_0\",port=\"1\"} 4\n"));
  const auto code = [&](const std::string& how, const std::string& host = "127.0.0.1") {
    return run_command("curl -s -g -m 20 -o /dev/null -w '%{http_code}' " + how + " https://" + host + ":" + std::to_string(b.port) + "/metrics").output;
  };
  CHECK(code(shown + " -4 -u prometheus:first", "localhost") == "200");
  CHECK(code(shown + " -u prometheus:first --resolve localhost:" + std::to_string(b.port) + ":[::1]", "localhost") == "200");
  CHECK(code(shown) == "401");
  CHECK(code("--cacert " + files.file("ca.pem") + " -u prometheus:first") == "403");
  // The real Prometheus scrapes it.
  const Prometheus prometheus(b.scratch, "- {job_name: rdmend, scheme: https, scrape_interval: 1s, static_configs: [{targets: [\"127.0.0.1:" + std::to_string(b.port) +
                                             "\"]}], basic_auth: {username: prometheus, password: first}, tls_config: {ca_file: " + files.file("ca.pem") +
                                             ", cert_file: " + files.file("client.pem") + ", key_file: " + files.file("client.key") + "}}");
  CHECK(eventually([&] { return has(answer_of(prometheus.url(), "/api/v1/query?query=rdma_port_state{device=%22mlx5_0%22}"), "\"4\"]"); }));

  files.write("password", "second\n");
  fs::copy_file(files.file("twin.pem"), files.file("server.pem"), fs::copy_options::overwrite_existing);
  // A key that does not fit: nothing changes.
  const auto bad = b.ctl("reload");
  CHECK(bad.status == 1);
  CHECK(has(bad.output, "error: listen.tls.key: it is not the key of the certificate\n"));
  CHECK(code(shown + " -u prometheus:first") == "200");
  fs::copy_file(files.file("twin.key"), files.file("server.key"), fs::copy_options::overwrite_existing);
  CHECK(b.ctl("reload").status == 0);
  CHECK(code(shown + " -u prometheus:first") == "401");
  CHECK(code(shown + " -u prometheus:second") == "200");
  CHECK(has(run_command("curl -s -v " + shown + " https://127.0.0.1:" + std::to_string(b.port) + "/ 2>&1").output, "CN=twin"));
  CHECK_FALSE(has(b.log(), "first"));
  CHECK_FALSE(has(b.log(), "second"));
}
