// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.hpp"
#include "config/files.hpp"
#include "config/tls_files.hpp"

namespace rdmend::config {
namespace {

void read_basic_auth(yaml::Reader& reader, const yaml::Entry& entry, Alertmanager& out) {
  BasicAuth auth;
  bool have_password = false;
  const auto second = [&](Position at) {
    if (std::exchange(have_password, true)) reader.error(at, "both password and password_file are given", "give one of them");
  };
  reader.map(entry.value, "basic_auth",
             {{"username", [&](const yaml::Entry& e) { auth.username = reader.text(e.value, "basic_auth.username").value_or(""); }},
              {"password", [&](const yaml::Entry& e) {
                 second(e.at);
                 auth.password = reader.text(e.value, "basic_auth.password").value_or("");
               }},
              {"password_file", [&](const yaml::Entry& e) {
                 second(e.at);
                 const auto path = read_absolute_path(reader, e.value, "basic_auth.password_file");
                 if (!path) return;
                 auto password = read_password(*path);
                 if (!password) return reader.error(e.value.at, "basic_auth.password_file: " + password.error().message);
                 auth.password = std::move(*password);
               }}});
  if (auth.username.empty()) reader.error(entry.at, "basic_auth: username is missing");
  if (!have_password) reader.error(entry.at, "basic_auth: password or password_file is missing");
  out.basic_auth = std::move(auth);
}

void read_tls(yaml::Reader& reader, const yaml::Entry& entry, Alertmanager& out) {
  std::string cert, key;
  Position key_at;
  // libcurl opens the files itself; here they are looked at, so that what is wrong with them is told in time.
  const auto checked = [&](std::string& file, std::string& pem, const yaml::Entry& e, std::string_view name, PemFault fault_of) {
    pem = read_pem(reader, e, name, fault_of);
    file = e.value.text;
  };
  std::string ca;
  reader.map(entry.value, "tls",
             {{"ca_file", [&](const yaml::Entry& e) { checked(out.ca_file, ca, e, "tls.ca_file", certificate_fault); }},
              {"cert_file", [&](const yaml::Entry& e) { checked(out.cert_file, cert, e, "tls.cert_file", certificate_fault); }},
              {"key_file", [&](const yaml::Entry& e) {
                 key_at = e.value.at;
                 checked(out.key_file, key, e, "tls.key_file", private_key_fault);
               }},
              {"insecure_skip_verify", [&](const yaml::Entry& e) {
                 out.insecure_skip_verify = reader.boolean(e.value, "tls.insecure_skip_verify").value_or(false);
               }}});
  if (out.cert_file.empty() != out.key_file.empty()) reader.error(entry.at, "tls: cert_file and key_file go together");
  if (cert.empty() || key.empty()) return;
  if (const auto fault = pair_fault(cert, key)) reader.error(key_at, "tls.key_file: " + *fault);
}

}  // namespace

std::optional<std::string> read_url(yaml::Reader& reader, const yaml::Node& node, std::string_view name) {
  auto text = reader.text(node, name);
  if (!text) return std::nullopt;
  static const RE2 url(R"(https?://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:/[!-"$->@-~]*)?)");
  std::string host, port;
  const bool shaped = RE2::FullMatch(*text, url, &host, &port);
  if (shaped && (port.empty() || std::stoi(port) <= 65535)) {
    while (text->ends_with('/')) text->pop_back();
    return text;
  }
  const bool credentials = text->find('@') != std::string::npos;
  reader.error(node.at, fmt::format("{}: '{}' is not a URL of a server", name, printable(*text, 120)),
               credentials ? "credentials stand in basic_auth, not in the URL" : "write it like http://host:9093 or https://host/path");
  return std::nullopt;
}

std::optional<std::string> read_absolute_path(yaml::Reader& reader, const yaml::Node& node, std::string_view name) {
  auto text = reader.text(node, name);
  if (!text) return std::nullopt;
  if (text->starts_with('/') && text->size() < 4096) return text;
  reader.error(node.at, fmt::format("{}: '{}' is not an absolute path", name, printable(*text, 120)), "it must begin with '/'");
  return std::nullopt;
}

std::optional<std::vector<std::string>> read_regexes(yaml::Reader& reader, const yaml::Node& node, std::string_view name) {
  std::vector<std::string> out;
  reader.list(node, name, [&](const yaml::Node& item) {
    auto text = reader.text(item, name);
    if (!text) return;
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    const RE2 regex(*text, options);
    if (!regex.ok()) return reader.error(item.at, fmt::format("{}: '{}' is not a regular expression: {}", name, printable(*text, 120), regex.error()),
                                         "RE2's syntax, matched against the whole name: mlx5_.*");
    out.push_back(std::move(*text));
  });
  return out;
}

// Whole names, no patterns: what a pattern lets through is what somebody installs next year.
std::optional<std::vector<std::string>> read_units(yaml::Reader& reader, const yaml::Node& node, std::string_view name) {
  std::vector<std::string> out;
  reader.list(node, name, [&](const yaml::Node& item) {
    auto text = reader.text(item, name);
    if (!text) return;
    if (unit_suffix(*text).value_or("").empty())
      return reader.error(item.at, fmt::format("{}: '{}' is not the name of a unit with its suffix", name, printable(*text, 120)), "write it like opensm.service");
    out.push_back(std::move(*text));
  });
  return out;
}

std::optional<std::vector<std::string>> read_globs(yaml::Reader& reader, const yaml::Node& node, std::string_view name) {
  std::vector<std::string> out;
  const auto slash = reader.file().rfind('/');
  const std::string directory = slash == std::string::npos ? "" : reader.file().substr(0, slash + 1);
  reader.list(node, name, [&](const yaml::Node& item) {
    auto text = reader.text(item, name);
    if (!text) return;
    const auto open = text->rfind('[');
    if (text->empty() || (open != std::string::npos && text->find(']', open + 2) == std::string::npos))
      return reader.error(item.at, fmt::format("{}: '{}' is not a file pattern", name, printable(*text, 120)), "write it like /etc/rdmend/rules.d/*.yaml");
    out.push_back(text->starts_with('/') ? *text : directory + *text);
  });
  return out;
}

std::optional<std::string> read_word(yaml::Reader& reader, const yaml::Node& node, std::string_view name,
                                     std::span<const std::string_view> legal) {
  auto text = reader.text(node, name);
  if (!text) return std::nullopt;
  for (const auto word : legal)
    if (word == *text) return text;
  reader.error(node.at, fmt::format("{}: '{}' is not known", name, printable(*text, 64)), did_you_mean(*text, legal));
  return std::nullopt;
}

Labels read_labels(yaml::Reader& reader, const yaml::Node& node, std::string_view name, Labels defaults) {
  static const RE2 legal("[a-zA-Z_][a-zA-Z0-9_]*");
  reader.each(node, name, [&](const yaml::Entry& entry) {
    if (!RE2::FullMatch(entry.key, legal) || entry.key == kMetricName)
      return reader.error(entry.at, fmt::format("{}: '{}' is not a label name", name, printable(entry.key, 64)),
                          "letters, digits and '_', not beginning with a digit");
    if (const auto value = reader.text(entry.value, fmt::format("{}.{}", name, entry.key))) defaults.set(entry.key, *value);
  });
  return defaults;
}

std::string read_pem(yaml::Reader& reader, const yaml::Entry& entry, std::string_view name, PemFault fault_of) {
  const auto path = read_absolute_path(reader, entry.value, name);
  if (!path) return {};
  auto pem = read_small_file(*path, 1U << 20U);
  if (!pem) {
    reader.error(entry.value.at, fmt::format("{}: {}", name, pem.error().message));
    return {};
  }
  const auto fault = fault_of(*pem);
  if (!fault) return std::move(*pem);
  reader.error(entry.value.at, fmt::format("{}: {}: {}", name, *path, *fault), "a PEM file is expected");
  return {};
}

std::optional<Alertmanager> read_alertmanager(yaml::Reader& reader, const yaml::Node& node) {
  Alertmanager out;
  bool have_url = false;
  reader.map(node, "alertmanagers",
             {{"url", [&](const yaml::Entry& e) {
                 have_url = true;
                 out.url = read_url(reader, e.value, "alertmanagers.url").value_or("");
               }},
              {"timeout", [&](const yaml::Entry& e) {
                 out.timeout = reader.duration(e.value, "alertmanagers.timeout", milliseconds{100}, std::chrono::minutes{5}).value_or(out.timeout);
               }},
              {"basic_auth", [&](const yaml::Entry& e) { read_basic_auth(reader, e, out); }},
              {"tls", [&](const yaml::Entry& e) { read_tls(reader, e, out); }}});
  if (node.kind == yaml::Node::Kind::map && !have_url) reader.error(node.at, "alertmanagers: url is missing");
  return out;
}

}  // namespace rdmend::config
