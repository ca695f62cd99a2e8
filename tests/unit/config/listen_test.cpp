// SPDX-License-Identifier: Apache-2.0
// `listen` entries that are maps: tls and basic_auth, their files, and every fault of them; the files of alertmanagers.
#include <catch2/catch.hpp>

#include "config/config.hpp"
#include "support/certificates.hpp"

using namespace rdmend;
using test::Certificates;

namespace {

std::string listen_faults(const std::string& text) {
  Diagnostics diagnostics;
  config::parse("rdmend.yaml", text, "host-17", diagnostics);
  return diagnostics.text();
}

constexpr std::string_view kHint = "; write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock\n";

}  // namespace

TEST_CASE("an entry that is a map has its files read") {
  const Certificates files;
  files.write("password", "secret\n");
  Diagnostics diagnostics;
  const auto config = config::parse("rdmend.yaml",
                                    "listen:\n- 127.0.0.1:1\n- {address: \"[::]:2\", tls: {cert: " + files.file("server.pem") + ", key: " + files.file("server.key") +
                                        ", client_ca: " + files.file("ca.pem") + "}, basic_auth: {username: prometheus, password_file: " + files.file("password") + "}}\n",
                                    "host-17", diagnostics);
  CHECK(diagnostics.text().empty());
  REQUIRE(config.listen.size() == 2);
  CHECK_FALSE(config.listen[0].tls);
  const auto& how = config.listen[1];
  CHECK(how.host == "::");
  CHECK(how.port == 2);
  REQUIRE(how.tls);
  CHECK(how.tls->cert == files.read("server.pem"));
  CHECK(how.tls->key == files.read("server.key"));
  CHECK(how.tls->client_ca == files.read("ca.pem"));
  CHECK(how.basic_auth->username == "prometheus");
  CHECK(how.basic_auth->password == "secret");
  CHECK(config::show(config, "listen").find("secret") == std::string::npos);
}

TEST_CASE("every fault of an entry is told where it is") {
  const Certificates files;
  files.write("text", "no PEM\n");
  files.write("empty", "\n");
  const auto f = [&](const char* name) { return files.file(name); };
  CHECK(listen_faults("listen: [{tls: {}}]\n") ==
        "rdmend.yaml:1:11: error: listen.tls: cert is missing\nrdmend.yaml:1:11: error: listen.tls: key is missing\n"
        "rdmend.yaml:1:10: error: listen: address is missing" + std::string(kHint));
  CHECK(listen_faults("listen: [{address: \"::1:1\", tsl: {}}]\n") ==
        "rdmend.yaml:1:20: error: listen: '::1:1': '::1' is not an IP address (IPv6 stands in brackets)" + std::string(kHint) +
            "rdmend.yaml:1:29: error: unknown key 'tsl'; did you mean 'tls'?\n");
  CHECK(listen_faults("listen:\n- address: \"[::]:1\"\n  tls:\n    cert: " + f("text") + "\n    key: " + f("nowhere") + "\n    client_ca: ca.pem\n") ==
        "rdmend.yaml:4:11: error: listen.tls.cert: " + f("text") + ": there is no certificate in it; a PEM file is expected\n" +
            "rdmend.yaml:5:10: error: listen.tls.key: " + f("nowhere") + ": No such file or directory\n" +
            "rdmend.yaml:6:16: error: listen.tls.client_ca: 'ca.pem' is not an absolute path; it must begin with '/'\n");
  CHECK(listen_faults("listen:\n- address: \"[::]:1\"\n  tls:\n    cert: " + f("server.pem") + "\n    key: " + f("text") + "\n") ==
        "rdmend.yaml:5:10: error: listen.tls.key: " + f("text") + ": there is no private key in it; a PEM file is expected\n");
  CHECK(listen_faults("listen:\n- address: \"[::]:1\"\n  tls:\n    cert: " + f("server.pem") + "\n    key: " + f("ca.key") + "\n") ==
        "rdmend.yaml:5:10: error: listen.tls.key: it is not the key of the certificate\n");
  CHECK(listen_faults("listen:\n- address: \"[::]:1\"\n  tls:\n    cert: " + f("server.pem") + "\n    key: " + f("locked.key") + "\n") ==
        "rdmend.yaml:5:10: error: listen.tls.key: " + f("locked.key") + ": it is protected by a passphrase, which nobody would be there to give; a PEM file is expected\n");
  CHECK(listen_faults("listen:\n- address: unix:/run/x.sock\n  tls:\n    cert: " + f("server.pem") + "\n    key: " + f("server.key") + "\n") ==
        "rdmend.yaml:3:3: error: listen: tls is for TCP, not for a unix socket; leave it out: who may connect is said by the directory's mode\n");
  CHECK(listen_faults("listen: [{address: \"127.0.0.1:1\", basic_auth: {username: \"a:b\", password: x}}]\n") ==
        "rdmend.yaml:1:65: error: unknown key 'password'; legal are: username, password_file\n"
        "rdmend.yaml:1:35: error: listen.basic_auth: a username cannot have a ':'\nrdmend.yaml:1:35: error: listen.basic_auth: password_file is missing\n");
  CHECK(listen_faults("listen: [{address: \"127.0.0.1:1\", basic_auth: {password_file: " + f("empty") + "}}]\n") ==
        "rdmend.yaml:1:63: error: listen.basic_auth.password_file: " + f("empty") + ": is empty\nrdmend.yaml:1:35: error: listen.basic_auth: username is missing\n");
  files.write("password", "secret");
  CHECK(listen_faults("listen: [{address: \"[::]:1\", basic_auth: {username: u, password_file: " + f("password") + "}}]\n") ==
        "rdmend.yaml:1:30: warning: listen: '[::]:1': the password goes over the network in clear text; give tls as well\n");
  CHECK(listen_faults("listen: [{address: \"[::1]:1\", basic_auth: {username: u, password_file: " + f("password") + "}}]\n").empty());
  CHECK(listen_faults("listen: [\"[::]:1\", {address: \"[::]:1\"}]\n") == "rdmend.yaml:1:20: error: listen: '[::]:1' is given twice\n");
}

TEST_CASE("the certificates for an Alertmanager are looked at as well") {
  const Certificates files;
  files.write("text", "no PEM\n");
  const auto entry = [&](const std::string& ca, const std::string& cert, const std::string& key) {
    return "alertmanagers:\n- url: https://a:1\n  tls:\n    ca_file: " + files.file(ca) + "\n    cert_file: " + files.file(cert) + "\n    key_file: " + files.file(key) + "\n";
  };
  Diagnostics diagnostics;
  const auto config = config::parse("rdmend.yaml", entry("ca.pem", "client.pem", "client.key"), "host-17", diagnostics);
  CHECK(diagnostics.text().empty());
  CHECK(config.alertmanagers.at(0).ca_file == files.file("ca.pem"));
  CHECK(config.alertmanagers.at(0).cert_file == files.file("client.pem"));
  CHECK(config.alertmanagers.at(0).key_file == files.file("client.key"));
  CHECK(listen_faults(entry("text", "nowhere", "server.key")) ==
        "rdmend.yaml:4:14: error: tls.ca_file: " + files.file("text") + ": there is no certificate in it; a PEM file is expected\n" +
            "rdmend.yaml:5:16: error: tls.cert_file: " + files.file("nowhere") + ": No such file or directory\n");
  CHECK(listen_faults(entry("ca.pem", "client.pem", "server.key")) == "rdmend.yaml:6:15: error: tls.key_file: it is not the key of the certificate\n");
}
