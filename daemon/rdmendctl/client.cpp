// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstring>

#include "base/c_handle.hpp"
#include "base/text.hpp"
#include "command_line.hpp"

namespace rdmend::ctl {
namespace {

using Easy = CHandle<CURL, curl_easy_cleanup>;
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
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
    const CHandle<char, curl_free> escaped(
        curl_easy_escape(easy, value.data(), static_cast<int>(value.size())));
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, escaped ? escaped.get() : "");
  }
  return out;
}

bool is_no_socket(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode);
}

Error unreachable_because(const std::string& socket, CURLcode code, CURL* easy) {
  long number = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
  std::string why = code == CURLE_COULDNT_CONNECT && number != 0 ? std::strerror(static_cast<int>(number))
                                                                 : curl_easy_strerror(code);
  std::string hint = "is it running? 'systemctl status rdmend' tells; another socket is given with --socket";
  if (number == EACCES) hint = "reading is for root and for the group of control_group in rdmend.yaml";
  if (code == CURLE_OPERATION_TIMEDOUT) {
    why = fmt::format("no answer within {} s", kTimeoutSeconds);
    hint = "it hangs, or is stopped: 'systemctl status rdmend' tells; its watchdog starts a hanging one anew";
  } else if (is_no_socket(socket)) {
    why = "it is not a socket";
    hint = "rdmend's is control_socket of rdmend.yaml, and is given with --socket";
  }
  return {fmt::format("cannot reach rdmend at {}: {}; {}", socket, why, hint), static_cast<int>(number)};
}

// Prints the answer, or what went wrong; the exit code.
int run(const Globals& globals, const Question& question, bool as_json) {
  const auto reply = ask(globals, question.call());
  if (!reply) {
    fmt::print(stderr, "rdmendctl: {}\n", reply.error().message);
    return unreachable;
  }
  auto parsed = json::parse(reply->body, nullptr, false);
  if (parsed.is_object() && parsed.contains("error")) {
    fmt::print(stderr, "rdmendctl: {}\n", parsed["error"].get<std::string>());
    return wrong;
  }
  if (reply->status != 200 || !parsed.is_object() || !parsed.contains("data")) {
    fmt::print(stderr, "rdmendctl: {} answered HTTP status {}, and not as rdmend does: {}\n",
               globals.control_socket, reply->status, printable(reply->body));
    return wrong;
  }
  auto& data = parsed["data"];
  const int exit = question.judge(data);
  if (as_json)
    fmt::print("{}\n", data.dump(2));
  else
    question.show(data);
  return exit;
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
  if (const auto code = curl_easy_perform(easy.get()); code != CURLE_OK)
    return unreachable_because(globals.control_socket, code, easy.get());
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &out.status);
  return out;
}

CLI::App& add_question(CLI::App& parent, const Globals& globals, int& exit, Question question) {
  auto& command = *parent.add_subcommand(question.name, question.help);
  auto as_json = std::make_shared<bool>(false);
  command.add_flag("--json", *as_json, "for programs");
  command.callback([&globals, &exit, as_json, question = std::move(question)] {
    exit = run(globals, question, *as_json);
  });
  return command;
}

void add_limit(CLI::App& command, const std::shared_ptr<std::string>& limit, std::uint64_t most) {
  *limit = "50";
  command.add_option("--limit", *limit, "at most so many")
      ->type_name("N")
      ->check(command_line::whole_number(1, most))
      ->capture_default_str();
}

}  // namespace rdmend::ctl
