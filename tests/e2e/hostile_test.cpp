// SPDX-License-Identifier: Apache-2.0
// Clients that mean harm, against the whole daemon: memory and descriptors stay bounded, and everybody else is served meanwhile.
#include <gnutls/gnutls.h>
#include <sys/resource.h>

#include "e2e/daemon_bench.hpp"
#include "support/certificates.hpp"
#include "support/raw_client.hpp"

using namespace rdmend::test;
namespace fs = std::filesystem;

namespace {

struct Target : DaemonBench {
  explicit Target(const std::string& addresses = "") {
    if (!addresses.empty()) {
      listen = "[\"127.0.0.1:" + std::to_string(port) + "\", \"unix:" + (scratch / "http.sock") + "\", " + addresses + "]";
      configure("");
    }
    start();
    REQUIRE(well());
  }
  // A scrape from the same address as the hostile ones, one through the unix socket, and the control socket.
  bool well() {
    return has(get("/metrics"), "rdma_port_state{device=\"mlx5_0\",port=\"1\"} 4\n") &&
           run_command("curl -s -m 20 --unix-socket " + (scratch / "http.sock") + " http://x/-/healthy").output == "rdmend is healthy.\n" && ctl("status").status == 0;
  }
  [[nodiscard]] std::size_t megabytes() const {
    const auto status = slurp("/proc/" + std::to_string(daemon->pid()) + "/status");
    return std::stoul(status.substr(status.find("VmRSS:") + 6)) / 1024;
  }
  [[nodiscard]] std::size_t descriptors() const {
    const fs::directory_iterator all("/proc/" + std::to_string(daemon->pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  RawClient client() const { return RawClient::tcp(port); }
};

// Sends `text` again and again until the other side hangs up.
bool flood_until_closed(std::vector<RawClient>& clients, const std::string& text, std::size_t most) {
  std::vector<std::size_t> sent(clients.size());
  return eventually([&] {
    bool all = true;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (clients[i].closed()) continue;
      all = false;
      while (sent[i] < most) {
        const auto now = clients[i].send(std::string_view(text).substr(sent[i] % text.size()));
        sent[i] += now;
        if (now == 0) break;
      }
    }
    return all;
  });
}

// What a client says first: the server has to answer it with a signature.
std::string client_hello() {
  std::string out;
  gnutls_session_t session = nullptr;
  REQUIRE(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) == 0);
  gnutls_set_default_priority(session);
  gnutls_certificate_credentials_t credentials = nullptr;  // without, no kind of key would be offered that the server has
  gnutls_certificate_allocate_credentials(&credentials);
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_transport_set_ptr(session, &out);
  gnutls_transport_set_push_function(session, [](gnutls_transport_ptr_t to, const void* data, size_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
    return static_cast<ssize_t>(size);
  });
  gnutls_transport_set_pull_function(session, [](gnutls_transport_ptr_t, void*, size_t) {
    errno = EAGAIN;
    return ssize_t{-1};
  });
  gnutls_handshake(session);
  gnutls_deinit(session);
  gnutls_certificate_free_credentials(credentials);
  return out;
}

}  // namespace

TEST_CASE("ten thousand connections that never finish their requests") {
  const rlimit files{16'000, 20'000};
  setrlimit(RLIMIT_NOFILE, &files);
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  REQUIRE(now.rlim_cur >= 12'000);
  Target t;
  const auto memory = t.megabytes();
  std::vector<RawClient> crowd;
  while (crowd.size() < 10'000) {
    crowd.push_back(t.client());
    crowd.back().send("GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    if (crowd.size() % 1000 == 0) {
      INFO(crowd.size());
      CHECK(t.well());
    }
  }
  CHECK(eventually([&] {
    std::size_t dropped = 0;
    for (auto& one : crowd) dropped += one.closed() ? 1 : 0;
    return dropped >= 10'000 - 256;
  }));
  CHECK(t.well());
  CHECK(t.descriptors() < 256 + 128);
  CHECK(t.megabytes() < memory + 64);
  CHECK(crowd.back().send("x") == 1);
  CHECK(eventually([&] {
    const auto page = t.get("/metrics");
    const auto at = page.find("rdmend_http_dropped_total{address=\"127.0.0.1:" + std::to_string(t.port) + "\"} ");
    return at != std::string::npos && std::stod(page.substr(page.find("} ", at) + 2)) >= 10'000 - 256;
  }));
}

TEST_CASE("a crowd on the control socket does not keep its user out") {
  Target t;
  std::vector<RawClient> crowd;
  for (int i = 0; i < 500; ++i) {
    crowd.push_back(RawClient::local(t.socket()));
    crowd.back().send("GET /");
    if (i % 100 == 0) CHECK(t.well());
  }
  CHECK(t.well());
}

TEST_CASE("a flood of TLS handshakes: few are under way at once, and everybody else is served") {
  const Certificates files;
  const auto port = free_port();
  Target t("{address: \"127.0.0.1:" + std::to_string(port) + "\", tls: {cert: " + files.file("server.pem") + ", key: " + files.file("server.key") + "}}");
  const auto memory = t.megabytes();
  const auto scraped = [&] {
    return has(run_command("curl -s -m 20 --cacert " + files.file("ca.pem") + " https://127.0.0.1:" + std::to_string(port) + "/metrics").output, "rdma_port_state{");
  };
  CHECK(scraped());
  const auto hello = client_hello();
  REQUIRE(hello.size() > 100);
  std::vector<RawClient> crowd;
  std::size_t answered = 0;
  while (crowd.size() < 2000) {
    crowd.push_back(RawClient::tcp(port));
    crowd.back().send(hello);
    if (crowd.size() % 200 != 0) continue;
    INFO(crowd.size());
    CHECK(t.well());
    CHECK(scraped());
  }
  CHECK(eventually([&] {
    std::size_t dropped = 0;
    answered = 0;
    for (auto& one : crowd) {
      dropped += one.closed() ? 1 : 0;
      answered += one.received().empty() ? 0 : 1;
    }
    return dropped >= 2000 - 16;
  }));
  CHECK(answered > 100);  // the flood was one
  CHECK(t.descriptors() < 16 + 128);
  CHECK(t.megabytes() < memory + 32);
  CHECK(t.well());
  CHECK(scraped());
}

TEST_CASE("headers of ten megabytes, bodies without end, targets beyond all bounds") {
  Target t;
  const auto memory = t.megabytes();
  const auto flood = [&](const std::string& head, const std::string& more) {
    std::vector<RawClient> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(t.client());
    for (auto& one : clients) one.send(head);
    CHECK(t.well());
    CHECK(flood_until_closed(clients, more, 10U << 20U));
    for (auto& one : clients) CHECK_FALSE(one.got("HTTP/1.1 200"));
  };
  flood("GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", std::string(65536, 'a'));
  flood("GET / HTTP/1.1\r\n", "X-Many: 1\r\n");
  flood("GET /", std::string(65536, 'a'));
  flood("GET /?", "a=b&");
  flood("POST /api/v1/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "4000\r\n" + std::string(0x4000, 'a') + "\r\n");
  auto honest = t.client();
  honest.send("POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n");
  CHECK(eventually([&] { return honest.got("HTTP/1.1 413"); }));
  CHECK(t.well());
  CHECK(t.megabytes() < memory + 32);
}

TEST_CASE("clients that ask for everything and read nothing") {
  Target t;
  const auto memory = t.megabytes();
  std::vector<RawClient> lazy;
  for (int i = 0; i < 200; ++i) {
    lazy.push_back(t.client());
    // Pipelined: each would be answered in its turn.
    for (int j = 0; j < 20; ++j) lazy.back().get("/metrics");
  }
  CHECK(t.well());
  CHECK(t.megabytes() < memory + 128);
}

TEST_CASE("expressions and selectors that are bombs") {
  Target t;
  const auto memory = t.megabytes();
  std::string nested = "{__name__=~\".+\"}";
  for (int i = 0; i < 60; ++i) nested = "label_join(" + nested + ",\"a\",\"\",\"a\",\"a\",\"__name__\")";
  const auto bombs = {
      "--data-urlencode 'query=" + nested + "' /api/v1/query",
      std::string("--data-urlencode 'query=count_values(\"x\",{__name__=~\".+\"}) * on() group_left {__name__=~\".+\"}' /api/v1/query"),
      std::string("--data-urlencode 'query=sum_over_time(max_over_time(rdma_port_state[1d:1ms])[1d:1ms])' /api/v1/query"),
      std::string("--data-urlencode 'query={__name__=~\"(.*a.*){100}\"}' -d start=0 -d end=11000 -d step=1 /api/v1/query_range"),
      std::string("--data-urlencode 'query=((((((((((((((((((((' /api/v1/query"),
  };
  for (const auto& bomb : bombs) {
    const auto space = bomb.rfind(' ');
    const auto answer = t.get_json(bomb.substr(space + 1), bomb.substr(0, space));
    INFO(bomb);
    CHECK(answer.contains("status"));
    CHECK(t.well());
  }
  std::string many;
  for (int i = 0; i < 900; ++i) many += "match[]={a" + std::to_string(i) + "!~\"(x+x+)+y\"}&";
  write_file(t.scratch / "many", many);
  const auto answer = t.get_json("/api/v1/series", "-d @" + (t.scratch / "many"));
  CHECK(answer.contains("status"));
  CHECK(t.well());
  CHECK(t.megabytes() < memory + 128);
}
