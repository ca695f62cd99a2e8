// SPDX-License-Identifier: Apache-2.0
// TLS, client certificates, passwords and compression, asked for by the real curl.
#include "http_bench.hpp"
#include "rdmend/http_client.hpp"
#include "rdmend/servers.hpp"
#include "support/certificates.hpp"
#include "support/child.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using test::Certificates;
using Bench = test::HttpBench;

namespace {

const Certificates& files() {
  static const Certificates kFiles;
  return kFiles;
}

config::ServerTls tls(const std::string& name, bool clients) {
  return {files().read(name + ".pem"), files().read(name + ".key"), clients ? files().read("ca.pem") : ""};
}

// What curl says, the loop turning meanwhile; it begins with the HTTP status and curl's exit code.
template <class Turns>
std::string curl(Turns&& until, const std::string& arguments) {
  const auto out = files().file("curl.out");
  test::write_file(out, "");
  test::Child child({"sh", "-c", "cd " + files().path() + " && curl -s -m 10 -w '%{http_code} ' -o body " + arguments + "; echo $?; cat body; rm -f body"}, out);
  REQUIRE(until([&] { return child.ended().has_value(); }));
  return test::slurp(out);
}

struct Served : Bench {
  explicit Served(const config::Listen& how, const HttpServer::Limits& limits = {}) : Bench(limits, how) {}
  std::string ask(const std::string& arguments, const std::string& path = "/x") {
    return curl([this](const auto& c) { return until(c); }, arguments + " https://127.0.0.1:" + std::to_string(port) + path);
  }
};

config::Listen with(std::optional<config::ServerTls> how, std::optional<config::BasicAuth> auth = {}) {
  auto out = Bench::tcp();
  out.tls = std::move(how);
  out.basic_auth = std::move(auth);
  return out;
}

}  // namespace

TEST_CASE("HTTPS is served with the certificate that was given") {
  Served s(with(tls("server", false)));
  CHECK(s.ask("--cacert ca.pem") == "200 0\nhello /x\n");
  CHECK(s.ask("--cacert ca.pem --tls-max 1.2") == "200 0\nhello /x\n");
  CHECK(s.ask("--cacert stranger.pem").starts_with("000 60\n"));
  CHECK(s.ask("--cacert ca.pem --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0").starts_with("000 35\n"));
  CHECK(s.ask("--cacert ca.pem", "/big").starts_with("200 0\nxxxx"));
  // Plain HTTP gets nothing, and harms nobody.
  auto plain = test::RawClient::tcp(s.port);
  plain.get("/x");
  CHECK(s.until([&] { return plain.closed(); }));
  CHECK_FALSE(plain.got("hello"));
}

TEST_CASE("with client_ca a client must show a certificate of its, for clients") {
  Served s(with(tls("server", true)));
  const std::string refused = "403 0\na client certificate is needed, signed by the authority that listen.tls.client_ca names\n";
  CHECK(s.ask("--cacert ca.pem --cert client.pem --key client.key") == "200 0\nhello /x\n");
  CHECK(s.ask("--cacert ca.pem") == refused);
  CHECK(s.ask("--cacert ca.pem --cert stranger.pem --key stranger.key") == refused);
  CHECK(s.ask("--cacert ca.pem --cert server.pem --key server.key") == refused);
  CHECK(s.ask("--cacert ca.pem --cert client.pem --key client.key --tls-max 1.2") == "200 0\nhello /x\n");
}

TEST_CASE("with basic_auth a client must give name and password") {
  Served s(with(tls("server", false), config::BasicAuth{"prometheus", "se:cret"}));
  const std::string refused = "401 0\na user name and password are needed\n";
  CHECK(s.ask("--cacert ca.pem -u prometheus:se:cret") == "200 0\nhello /x\n");
  for (const auto* wrong : {"", "-u prometheus:se", "-u prometheus:se:cretx", "-u prometheus:", "-u Prometheus:se:cret", "-u :", "-H 'Authorization: Basic !!!'",
                            "-H 'Authorization: Basic'", "-H 'Authorization: Bearer x'"}) {
    INFO(wrong);
    s.last.path.clear();
    CHECK(s.ask(std::string("--cacert ca.pem ") + wrong) == refused);
    CHECK(s.last.path.empty());
  }
  CHECK(s.ask("--cacert ca.pem -d a=b") == refused);
}

TEST_CASE("a crowd that begins a handshake and goes no further keeps nobody out") {
  Served s(with(tls("server", false)));
  std::vector<test::RawClient> crowd;
  for (int i = 0; i < 600; ++i) {
    crowd.push_back(test::RawClient::tcp(s.port));
    if (i % 2 == 0) crowd.back().send({"\x16\x03\x01\x02\x00\x01\x00", 7});  // the begin of a ClientHello
    s.until([] { return false; }, milliseconds{0});
  }
  CHECK(s.ask("--cacert ca.pem") == "200 0\nhello /x\n");
  CHECK(s.server->connections() <= HttpServer::Limits{}.handshakes);
  CHECK(s.server->dropped() >= 600 - HttpServer::Limits{}.handshakes);
}

TEST_CASE("handshakes end in time; who has asked once may keep its connection") {
  HttpServer::Limits limits;
  limits.handshake = milliseconds{300};
  Served s(with(tls("server", false)), limits);
  auto silent = test::RawClient::tcp(s.port);
  auto begun = test::RawClient::tcp(s.port);
  begun.send({"\x16\x03\x01\x02\x00\x01\x00", 7});
  CHECK(s.until([&] { return silent.closed() && begun.closed(); }));
  CHECK(s.server->dropped() == 2);
  // Two requests, half a second apart, over one connection.
  const auto url = "https://127.0.0.1:" + std::to_string(s.port) + "/x";
  CHECK(curl([&](const auto& c) { return s.until(c); }, "--cacert ca.pem --rate 2/s -w '%{http_code}/%{num_connects} ' -o /dev/null " + url + " " + url) ==
        "200/1 200/0 0\nhello /x\n");
}

TEST_CASE("what is sent to Alertmanagers goes over TLS with a certificate and a password, where it is configured so") {
  Served s(with(tls("server", true), config::BasicAuth{"rdmend", "secret"}));
  HttpClient client(s.loop);
  config::Alertmanager to;
  to.ca_file = files().file("ca.pem");
  to.cert_file = files().file("client.pem");
  to.key_file = files().file("client.key");
  to.basic_auth = config::BasicAuth{"rdmend", "secret"};
  const auto post = [&] {
    std::optional<long> status;
    std::string error;
    client.post(to, "https://127.0.0.1:" + std::to_string(s.port) + "/alerts", "[]", [&](long code, std::string words) {
      status = code;
      error = std::move(words);
    });
    REQUIRE(s.until([&] { return status.has_value(); }));
    return std::to_string(*status) + " " + error;
  };
  CHECK(post() == "200 ");
  CHECK(s.last.path == "/alerts");
  to.basic_auth->password = "wrong";
  CHECK(post() == "401 HTTP status 401: a user name and password are needed");
  to.ca_file = files().file("stranger.pem");
  CHECK(post().starts_with("0 "));
  to.insecure_skip_verify = true;
  to.basic_auth->password = "secret";
  CHECK(post() == "200 ");
}

TEST_CASE("who takes gzip gets gzip") {
  Bench b;
  const auto ask = [&](const std::string& arguments) {
    return curl([&](const auto& c) { return b.until(c); }, arguments + " http://127.0.0.1:" + std::to_string(b.port) + "/page");
  };
  CHECK(ask("--compressed") == "200 0\n" + std::string(100'000, 'y'));
  const auto raw = ask("-H 'Accept-Encoding: gzip'");
  CHECK(raw.size() < 2000);
  CHECK(raw.starts_with("200 0\n\x1f\x8b"));
  CHECK(ask("-H 'Accept-Encoding: gzip;q=0'") == "200 0\n" + std::string(100'000, 'y'));
}

TEST_CASE("a changed certificate or password is taken up on the same socket; what did not change is left alone") {
  Loop loop;
  Servers servers(loop, [](const HttpRequest&, const Answer& answer) { answer({200, "served\n", "text/plain"}); });
  const auto until = [&](const auto& condition) { return test::until(loop, condition); };
  auto where = Bench::tcp();
  where.port = test::free_port();
  where.text = "127.0.0.1:" + std::to_string(where.port);
  where.tls = tls("server", false);
  auto plain = Bench::tcp();
  plain.port = test::free_port();
  plain.text = "127.0.0.1:" + std::to_string(plain.port);
  REQUIRE(servers.listen_on({where, plain}));
  auto kept = test::RawClient::tcp(plain.port);
  kept.get("/");
  REQUIRE(until([&] { return kept.got("served"); }));
  const auto serial = [&] {
    return curl(until, "--cacert ca.pem -v https://" + where.text + "/ 2>&1 | grep -o 'CN=[a-z]*' | head -1");
  };
  CHECK(serial().find("CN=server") != std::string::npos);
  where.tls = tls("twin", false);
  where.basic_auth = config::BasicAuth{"u", "p"};
  REQUIRE(servers.listen_on({where, plain}));
  CHECK(serial().find("CN=twin") != std::string::npos);
  CHECK(curl(until, "--cacert ca.pem https://" + where.text + "/").starts_with("401 0\n"));
  CHECK(curl(until, "--cacert ca.pem -u u:p https://" + where.text + "/") == "200 0\nserved\n");
  CHECK_FALSE(kept.closed());

  // All or nothing: with an address that cannot be had, nothing changes.
  auto taken = Bench::tcp();
  const auto blocker = Listener::open(taken);
  REQUIRE(blocker);
  taken.port = blocker->port();
  taken.text = "127.0.0.1:" + std::to_string(taken.port);
  auto open = where;
  open.basic_auth.reset();
  CHECK(servers.listen_on({open, taken}).error().message == "listening on " + taken.text + ": Address already in use");
  CHECK(curl(until, "--cacert ca.pem https://" + where.text + "/").starts_with("401 0\n"));
}
