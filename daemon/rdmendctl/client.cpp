// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/c_handle.hpp"
#include "base/text.hpp"

namespace rdmend::ctl {
namespace {

using Easy = CHandle<CURL, curl_easy_cleanup>;
constexpr std::size_t kMostBytes = 256U << 20U;
constexpr long kTimeoutSeconds = 30;

std::size_t take(char* data, std::size_t size, std::size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > kMostBytes) return 0;
  text.append(data, size * count);
  return size * count;
}

std::string form(CURL* easy, const Call& call) {
  std::string out;
  for (const auto& [name, value] : call.parameters) {
    const CHandle<char, curl_free> escaped(curl_easy_escape(easy, value.data(), static_cast<int>(value.size())));
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, escaped ? escaped.get() : "");
  }
  return out;
}

Error unreachable_because(const std::string& socket, CURLcode code, CURL* easy) {
  long number = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
  const std::string why = code == CURLE_COULDNT_CONNECT && number != 0 ? std::strerror(static_cast<int>(number)) : curl_easy_strerror(code);
  std::string hint = "is it running? 'systemctl status rdmend' tells; another socket is given with --socket";
  if (number == EACCES) hint = "reading is for root and for the group of control_group in rdmend.yaml";
  return {fmt::format("cannot reach rdmend at {}: {}; {}", socket, why, hint), static_cast<int>(number)};
}

}  // namespace

Result<Reply> ask(const Globals& globals, const Call& call) {
  const Easy easy(curl_easy_init());
  Reply out;
  const auto parameters = form(easy.get(), call);
  auto url = "http://rdmend" + call.path;
  if (!call.post && !parameters.empty()) url += "?" + parameters;
  curl_easy_setopt(easy.get(), CURLOPT_UNIX_SOCKET_PATH, globals.control_socket.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, kTimeoutSeconds);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &take);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &out.body);
  if (call.post) curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, parameters.c_str());
  if (const auto code = curl_easy_perform(easy.get()); code != CURLE_OK) return unreachable_because(globals.control_socket, code, easy.get());
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &out.status);
  return out;
}

int online(const Globals& globals, const Call& call, bool as_json, const std::function<int(const json& data)>& show) {
  const auto reply = ask(globals, call);
  if (!reply) {
    fmt::print(stderr, "rdmendctl: {}\n", reply.error().message);
    return unreachable;
  }
  const auto answer = json::parse(reply->body, nullptr, false);
  if (answer.is_object() && answer.contains("error")) {
    fmt::print(stderr, "rdmendctl: {}\n", answer["error"].get<std::string>());
    return wrong;
  }
  if (reply->status != 200 || !answer.is_object() || !answer.contains("data")) {
    fmt::print(stderr, "rdmendctl: {} answered HTTP status {}, and not as rdmend does: {}\n", globals.control_socket, reply->status, printable(reply->body));
    return wrong;
  }
  if (!as_json) return show(answer["data"]);
  fmt::print("{}\n", answer["data"].dump(2));
  return fine;
}

}  // namespace rdmend::ctl
