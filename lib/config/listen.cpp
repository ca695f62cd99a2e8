// SPDX-License-Identifier: Apache-2.0
// An entry of `listen`: an address, or a map that says how it is protected as well.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "base/text.hpp"
#include "config/files.hpp"
#include "config/tls_files.hpp"
#include "config/values.hpp"

namespace rdmend::config {
namespace {

constexpr std::string_view kAddressHint = "write it like [::]:9879, 127.0.0.1:9879 or unix:/run/rdmend/http.sock";

bool is_address(int family, const std::string& text) {
  in6_addr room{};
  return inet_pton(family, text.c_str(), &room) == 1;
}

std::optional<std::string> address_fault(const std::string& text, Listen& out) {
  out.text = text;
  if (text.starts_with("unix:")) {
    out.path = text.substr(5);
    if (!out.path.starts_with('/')) return "the path of a unix socket must be absolute";
    if (out.path.size() >= sizeof(sockaddr_un::sun_path)) return fmt::format("the path of a unix socket has at most {} bytes", sizeof(sockaddr_un::sun_path) - 1);
    return std::nullopt;
  }
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return "the port is missing";
  const std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (fault != std::errc{} || end != port.data() + port.size()) return fmt::format("'{}' is not a port (0 to 65535)", printable(port, 32));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  out.host = bracketed ? host.substr(1, host.size() - 2) : host;
  if (bracketed ? !is_address(AF_INET6, out.host) : !is_address(AF_INET, out.host))
    return fmt::format("'{}' is not an IP address{}", printable(host, 64), is_address(AF_INET6, host) ? " (IPv6 stands in brackets)" : "");
  return std::nullopt;
}

bool read_address(yaml::Reader& reader, const yaml::Node& node, Listen& out) {
  const auto text = reader.text(node, "listen");
  if (!text) return false;
  const auto fault = address_fault(*text, out);
  if (fault) reader.error(node.at, fmt::format("listen: '{}': {}", printable(*text, 120), *fault), std::string(kAddressHint));
  return !fault;
}

ServerTls read_server_tls(yaml::Reader& reader, const yaml::Entry& entry) {
  ServerTls out;
  std::optional<Position> cert, key;
  reader.map(entry.value, "listen.tls",
             {{"cert", [&](const yaml::Entry& e) {
                 cert = e.value.at;
                 out.cert = read_pem(reader, e, "listen.tls.cert", certificate_fault);
               }},
              {"key", [&](const yaml::Entry& e) {
                 key = e.value.at;
                 out.key = read_pem(reader, e, "listen.tls.key", private_key_fault);
               }},
              {"client_ca", [&](const yaml::Entry& e) { out.client_ca = read_pem(reader, e, "listen.tls.client_ca", certificate_fault); }}});
  if (!cert) reader.error(entry.at, "listen.tls: cert is missing");
  if (!key) reader.error(entry.at, "listen.tls: key is missing");
  if (out.cert.empty() || out.key.empty()) return out;
  if (const auto fault = pair_fault(out.cert, out.key)) reader.error(*key, "listen.tls.key: " + *fault);
  return out;
}

BasicAuth read_server_auth(yaml::Reader& reader, const yaml::Entry& entry) {
  BasicAuth out;
  bool have_file = false;
  reader.map(entry.value, "listen.basic_auth",
             {{"username", [&](const yaml::Entry& e) { out.username = reader.text(e.value, "listen.basic_auth.username").value_or(""); }},
              {"password_file", [&](const yaml::Entry& e) {
                 have_file = true;
                 const auto path = read_absolute_path(reader, e.value, "listen.basic_auth.password_file");
                 if (!path) return;
                 auto password = read_password(*path);
                 if (!password) return reader.error(e.value.at, "listen.basic_auth.password_file: " + password.error().message);
                 if (password->empty()) return reader.error(e.value.at, fmt::format("listen.basic_auth.password_file: {}: is empty", *path));
                 out.password = std::move(*password);
               }}});
  // In the header a colon ends the name.
  if (out.username.empty() || out.username.find(':') != std::string::npos)
    reader.error(entry.at, out.username.empty() ? "listen.basic_auth: username is missing" : "listen.basic_auth: a username cannot have a ':'");
  if (!have_file) reader.error(entry.at, "listen.basic_auth: password_file is missing");
  return out;
}

bool leaves_the_host(const Listen& where) { return where.path.empty() && !where.host.starts_with("127.") && where.host != "::1"; }

}  // namespace

std::optional<Listen> read_listen(yaml::Reader& reader, const yaml::Node& node) {
  Listen out;
  if (node.kind != yaml::Node::Kind::map) return read_address(reader, node, out) ? std::optional(out) : std::nullopt;
  std::optional<bool> address;
  Position auth, tls;
  reader.map(node, "listen",
             {{"address", [&](const yaml::Entry& e) { address = read_address(reader, e.value, out); }},
              {"tls", [&](const yaml::Entry& e) {
                 tls = e.at;
                 out.tls = read_server_tls(reader, e);
               }},
              {"basic_auth", [&](const yaml::Entry& e) {
                 auth = e.at;
                 out.basic_auth = read_server_auth(reader, e);
               }}});
  if (!address) reader.error(node.at, "listen: address is missing", std::string(kAddressHint));
  if (!address.value_or(false)) return std::nullopt;
  if (out.tls && !out.path.empty()) reader.error(tls, "listen: tls is for TCP, not for a unix socket", "leave it out: who may connect is said by the directory's mode");
  if (out.basic_auth && !out.tls && leaves_the_host(out))
    reader.warning(auth, fmt::format("listen: '{}': the password goes over the network in clear text", out.text), "give tls as well");
  return out;
}

}  // namespace rdmend::config
