// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_server.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "http_bench.hpp"

using namespace rdmend;
using namespace rdmend::daemon;
using namespace std::chrono_literals;
using test::RawClient;
using Bench = test::HttpBench;

namespace {

struct Directory {
  Directory() {
    std::string name = "/tmp/rdmend-http-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path + "/" + name; }
  std::string path;
};

config::Listen tcp(const std::string& host = "127.0.0.1") { return Bench::tcp(host); }
config::Listen local(const std::string& path) { return {{}, 0, path, "unix:" + path}; }

}  // namespace

TEST_CASE("a request is answered, and the connection serves the next one") {
  Bench b;
  auto client = RawClient::tcp(b.port);
  client.get("/a?query=up%7Bx%3D%22y%22%7D&time=5");
  REQUIRE(b.until([&] { return client.got("hello /a"); }));
  CHECK(client.got("HTTP/1.1 200"));
  CHECK(b.last.parameter("query") == "up{x=\"y\"}");
  CHECK(b.last.parameter("time") == "5");
  CHECK(b.last.parameter("none").empty());
  CHECK_FALSE(b.last.control);
  client.get("/b");
  REQUIRE(b.until([&] { return client.got("hello /b"); }));
}

TEST_CASE("a form's parameters are read, in whatever pieces it comes") {
  Bench b;
  auto client = RawClient::tcp(b.port);
  const std::string body = "query=rate%28x%5B1m%5D%29+%3E+1&time=7&empty=&bare&bad=%zz";
  const std::string text = "POST /q?time=1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body;
  for (const char c : text) {
    client.send({&c, 1});
    b.until([] { return false; }, 0ms);
  }
  REQUIRE(b.until([&] { return client.got("hello /q"); }));
  CHECK(b.last.method == "POST");
  CHECK(b.last.parameter("query") == "rate(x[1m]) > 1");
  CHECK(b.last.parameter("time") == "7");
  CHECK(b.last.values("time") == std::vector<std::string_view>{"7", "1"});
  CHECK(b.last.parameter("bad") == "%zz");
  CHECK(b.last.values("bare") == std::vector<std::string_view>{""});
}

TEST_CASE("an answer may come later; others are served meanwhile") {
  Bench b;
  auto patient = RawClient::tcp(b.port);
  patient.get("/later");
  REQUIRE(b.until([&] { return b.waiting != nullptr; }));
  CHECK(b.serves());
  b.waiting({200, "at last\n", "text/plain"});
  b.waiting({200, "twice\n", "text/plain"});
  REQUIRE(b.until([&] { return patient.got("at last"); }));
  CHECK_FALSE(patient.got("twice"));
}

TEST_CASE("an answer that comes later needs no other traffic to be sent") {
  Bench b;
  auto patient = RawClient::tcp(b.port);
  patient.get("/later");
  REQUIRE(b.until([&] { return b.waiting != nullptr; }));
  int turns = 0;
  b.until([&] { return ++turns > 5; });  // whatever the request had set off is over
  b.waiting({200, "at last\n", "text/plain"});
  CHECK(b.until([&] { return patient.got("at last"); }));
}

TEST_CASE("a server may be stopped while answers are due") {
  Bench b;
  auto client = RawClient::tcp(b.port);
  client.get("/later");
  REQUIRE(b.until([&] { return b.waiting != nullptr; }));
  b.server.reset();
  CHECK(b.until([&] { return client.closed(); }));
  b.waiting({200, "too late\n", "text/plain"});
  CHECK_FALSE(client.got("too late"));
}

TEST_CASE("a client that has gone before its answer harms nobody") {
  Bench b;
  {
    auto client = RawClient::tcp(b.port);
    client.get("/later");
    REQUIRE(b.until([&] { return b.waiting != nullptr; }));
  }
  b.waiting({200, "nobody reads this\n", "text/plain"});
  CHECK(b.serves());
}

TEST_CASE("a handler that throws is a 500") {
  Bench b;
  auto client = RawClient::tcp(b.port);
  client.get("/throw");
  CHECK(b.until([&] { return client.got("HTTP/1.1 500"); }));
}

TEST_CASE("headers and bodies are capped") {
  Bench b;
  SECTION("a header that is too long") {
    auto client = RawClient::tcp(b.port);
    client.send("GET /x HTTP/1.1\r\nX-Long: " + std::string(100'000, 'a') + "\r\n\r\n");
    CHECK(b.until([&] { return client.got("HTTP/1.1 431") || client.closed(); }));
    CHECK_FALSE(client.got("hello"));
  }
  SECTION("a target that is too long") {
    auto client = RawClient::tcp(b.port);
    client.send("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n");
    CHECK(b.until([&] { return client.got("HTTP/1.1 414") || client.closed(); }));
  }
  SECTION("a body that says it is too long") {
    auto client = RawClient::tcp(b.port);
    client.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
    CHECK(b.until([&] { return client.got("HTTP/1.1 413"); }));
  }
  SECTION("a body that does not say so") {
    auto client = RawClient::tcp(b.port);
    client.send("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const auto chunk = "4000\r\n" + std::string(0x4000, 'a') + "\r\n";
    std::size_t sent = 0;
    std::size_t offset = 0;
    CHECK(b.until([&] {
      const auto now = client.send(std::string_view(chunk).substr(offset));
      sent += now;
      offset = (offset + now) % chunk.size();
      return client.closed();
    }));
    CHECK_FALSE(client.got("hello"));
  }
  SECTION("nonsense") {
    auto client = RawClient::tcp(b.port);
    client.send(std::string("\x16\x03\x01\x00\xff\x00\x00\n\r\n\r\n\0\0\0", 14));
    CHECK(b.until([&] { return client.closed() || client.got("HTTP/1.1 400"); }));
  }
  CHECK(b.serves());
}

TEST_CASE("a client that dribbles a byte now and then is cut off all the same") {
  HttpServer::Limits limits;
  limits.request = 100ms;
  Bench b(limits);
  auto slow = RawClient::tcp(b.port);
  slow.send("GET /x HTTP/1.1\r\n");
  std::size_t turns = 0;
  CHECK(b.until([&] {
    if (++turns % 4 == 0) slow.send("X");
    return slow.closed();
  }));
  CHECK_FALSE(slow.got("hello"));
  CHECK(b.serves());
}

TEST_CASE("a client that asks and never reads does not hold up others") {
  Bench b;
  auto lazy = RawClient::tcp(b.port);
  lazy.get("/big");
  REQUIRE(b.until([&] { return b.last.path == "/big"; }));
  CHECK(b.serves());
}

namespace {

void allow_descriptors() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  setrlimit(RLIMIT_NOFILE, &files);
  REQUIRE(files.rlim_cur >= 4096);
}

}  // namespace

TEST_CASE("two thousand connections stop nobody, not even from the same address, and go without a trace") {
  allow_descriptors();
  const Directory directory;
  HttpServer::Limits limits;
  limits.idle = 1s;  // of those that sent a part and went, libmicrohttpd hears of some by their silence only
  Bench b(limits);
  auto listener = Listener::open(local(directory.file("control.sock")));
  REQUIRE(listener);
  bool control = false;
  auto second = HttpServer::start(b.loop, std::make_shared<Listener>(std::move(*listener)), {.control = true}, [&](const HttpRequest& request, const Answer& answer) {
    control = request.control && request.peer_uid == getuid();
    answer({200, "control\n", "text/plain"});
  });
  REQUIRE(second);
  {
    std::vector<RawClient> crowd;
    for (int i = 0; i < 2000; ++i) {
      crowd.push_back(RawClient::tcp(b.port));
      crowd.back().send("GET / HTTP/1.1\r\nHost: x\r\nX-Unfinished: ");
    }
    REQUIRE(b.until([&] { return b.server->connections() >= limits.connections; }));
    auto client = RawClient::local(directory.file("control.sock"));
    client.get("/");
    REQUIRE(b.until([&] { return client.got("control"); }));
    CHECK(control);
    CHECK(b.serves());
    CHECK(b.server->connections() <= limits.connections);
    // The oldest made room.
    CHECK(b.until([&] { return crowd.front().closed(); }));
    CHECK_FALSE(crowd.back().closed());
  }
  REQUIRE(b.until([&] { return b.server->connections() == 0; }));
  CHECK(b.serves());
}

TEST_CASE("whoever waits for an answer of ours is not dropped for a newcomer") {
  HttpServer::Limits limits;
  limits.connections = 2;
  Bench b(limits);
  auto patient = RawClient::tcp(b.port);
  patient.get("/later");
  REQUIRE(b.until([&] { return b.waiting != nullptr; }));
  for (int i = 0; i < 5; ++i) CHECK(b.serves());
  b.waiting({200, "at last\n", "text/plain"});
  CHECK(b.until([&] { return patient.got("at last"); }));
}

TEST_CASE("clients that ask for much and never read share a bounded memory") {
  HttpServer::Limits limits;
  limits.answers = 20U << 20U;
  Bench b(limits);
  std::vector<RawClient> lazy;
  for (int i = 0; i < 10; ++i) {
    lazy.push_back(RawClient::tcp(b.port));
    b.last.path.clear();
    lazy.back().get("/big");
    REQUIRE(b.until([&] { return b.last.path == "/big"; }));
  }
  // Two answers of 8 MiB may be on their way at once.
  CHECK(b.until([&] { return b.server->connections() == 2; }));
  CHECK(b.serves());
}

TEST_CASE("a request has a bounded number of parameters") {
  Bench b;
  auto client = RawClient::tcp(b.port);
  std::string body;
  for (int i = 0; i < 1001; ++i) body += "a=1&";
  client.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  CHECK(b.until([&] { return client.got("there are too many parameters"); }));
  CHECK(client.got("HTTP/1.1 400"));
}

TEST_CASE("[::] serves IPv6 and IPv4") {
  Bench b({}, tcp("::"));
  for (const int family : {AF_INET, AF_INET6}) {
    auto client = RawClient::tcp(b.port, family);
    client.get("/x");
    CHECK(b.until([&] { return client.got("hello"); }));
  }
}

TEST_CASE("unix sockets: a stale file is replaced, a served one is not, another file is left alone") {
  const Directory directory;
  const auto path = directory.file("s.sock");
  {
    auto first = Listener::open(local(path), {0660, {}});
    REQUIRE(first);
    struct stat info {};
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777U) == 0660);
    const auto second = Listener::open(local(path));
    REQUIRE_FALSE(second);
    CHECK(second.error().message == "listening on unix:" + path + ": another process listens there");
  }
  CHECK_FALSE(std::filesystem::exists(path));

  // Left behind by a process that was killed: bound, but nobody listens.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  {
    const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM, 0));
    REQUIRE(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  CHECK(Listener::open(local(path)));

  std::ofstream(path) << "mine";
  const auto refused = Listener::open(local(path));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "listening on unix:" + path + ": there is a file of that name that is no socket");
  CHECK(std::filesystem::exists(path));
  CHECK_FALSE(Listener::open(local(directory.file(std::string(200, 'x')))));
}

TEST_CASE("a unix socket that cannot be made: where, why, and what to do") {
  const Directory directory;
  const auto user = "user " + std::to_string(geteuid());
  const auto path = directory.file("gone/s.sock");
  CHECK(Listener::open(local(path)).error().message == "listening on unix:" + path + ": there is no directory " + directory.file("gone") +
                                                           ": make it, writable for " + user + ", or name another path");
  std::ofstream(directory.file("file")) << "no directory";
  const auto below = directory.file("file/s.sock");
  CHECK(Listener::open(local(below)).error().message == "listening on unix:" + below + ": binding: Not a directory");
  // Root may write anywhere: as somebody else.
  const auto before = geteuid();
  REQUIRE(chmod(directory.path.c_str(), 0555) == 0);
  if (before == 0) REQUIRE(seteuid(65534) == 0);
  const auto forbidden = Listener::open(local(directory.file("s.sock")));
  const auto who = std::to_string(geteuid());
  REQUIRE(seteuid(before) == 0);
  CHECK(forbidden.error().message == "listening on unix:" + directory.file("s.sock") + ": user " + who + " may not make a socket in " +
                                         directory.path + ": let it write there, or name another path");
  REQUIRE(chmod(directory.path.c_str(), 0700) == 0);
}

TEST_CASE("a port that is taken is said so") {
  auto first = Listener::open(tcp());
  REQUIRE(first);
  auto where = tcp();
  where.port = first->port();
  where.text = "127.0.0.1:" + std::to_string(where.port);
  const auto second = Listener::open(where);
  REQUIRE_FALSE(second);
  CHECK(second.error().message == "listening on " + where.text + ": Address already in use");
}
