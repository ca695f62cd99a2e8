// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_client.hpp"

#include <curl/curl.h>

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/c_handle.hpp"
#include "base/text.hpp"

namespace rdmend::daemon {
namespace {

constexpr std::size_t kMostOfAnswer = 4096;  // what is kept of an answer, for its words

using Easy = CHandle<CURL, curl_easy_cleanup>;
using HeaderList = CHandle<curl_slist, curl_slist_free_all>;

}  // namespace

struct HttpClient::State : std::enable_shared_from_this<State> {
  struct Request {
    Easy easy;
    HeaderList headers;
    std::string body, answer;
    std::array<char, CURL_ERROR_SIZE> words{};
    std::function<void(long, std::string)> done;
    State* client = nullptr;
    std::optional<Instant> cause;
    std::size_t handed = 0;
  };

  explicit State(Reactor& r) : reactor(r), multi(curl_multi_init()) {
    curl_multi_setopt(multi.get(), CURLMOPT_SOCKETFUNCTION, &State::want_socket);
    curl_multi_setopt(multi.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi.get(), CURLMOPT_TIMERFUNCTION, &State::want_timer);
    curl_multi_setopt(multi.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, 16L);
  }
  ~State() {
    ending = true;
    for (auto& [easy, request] : requests) curl_multi_remove_handle(multi.get(), easy);
    requests.clear();
    multi.reset();  // calls want_socket once more for what it closes
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start(const config::Alertmanager& to, const std::string& url, std::unique_ptr<Request> request);
  static void set_options(const config::Alertmanager& to, const std::string& url, Request& request);
  void act(curl_socket_t socket, int events);
  std::vector<std::pair<std::unique_ptr<Request>, CURLcode>> take_finished();

  static int want_socket(CURL*, curl_socket_t socket, int what, void* self, void*);
  static int want_timer(CURLM*, long timeout, void* self);
  static std::size_t on_answer(char* data, std::size_t size, std::size_t count, void* request);
  static int on_debug(CURL*, curl_infotype type, char*, std::size_t size, void* request);

  Reactor& reactor;
  CHandle<CURLM, curl_multi_cleanup> multi;
  std::unordered_map<CURL*, std::unique_ptr<Request>> requests;
  std::unordered_map<curl_socket_t, Reactor::Handle> sockets;
  Reactor::Handle timer;
  std::optional<Instant> cause;
  std::function<void(nanoseconds)> sent;
  bool ending = false;
};

int HttpClient::State::want_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  auto& state = *static_cast<State*>(self);
  state.sockets.erase(socket);
  if (what == CURL_POLL_REMOVE || state.ending) return 0;
  const Reactor::Interest interest{(what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0};
  state.sockets[socket] = state.reactor.watch(socket, interest, [&state, socket](Reactor::Ready ready) {
    state.act(socket, (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0));
  });
  return 0;
}

int HttpClient::State::want_timer(CURLM*, long timeout, void* self) {
  auto& state = *static_cast<State*>(self);
  state.timer.reset();
  if (timeout < 0 || state.ending) return 0;
  state.timer = state.reactor.after(milliseconds{timeout}, [&state] { state.act(CURL_SOCKET_TIMEOUT, 0); });
  return 0;
}

std::size_t HttpClient::State::on_answer(char* data, std::size_t size, std::size_t count, void* request) {
  auto& answer = static_cast<Request*>(request)->answer;
  answer.append(data, std::min(size * count, kMostOfAnswer - answer.size()));
  return size * count;
}

// The one place where libcurl tells what it has just handed to the socket.
int HttpClient::State::on_debug(CURL*, curl_infotype type, char*, std::size_t size, void* data) {
  auto& request = *static_cast<Request*>(data);
  if (type != CURLINFO_DATA_OUT) return 0;
  request.handed += size;
  if (!request.cause || request.handed < request.body.size()) return 0;
  const auto since = std::chrono::steady_clock::now() - *request.cause;
  request.cause.reset();
  if (request.client->sent) request.client->sent(since);
  return 0;
}

void HttpClient::State::set_options(const config::Alertmanager& to, const std::string& url, Request& request) {
  CURL* easy = request.easy.get();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  // A time-out while a name is being resolved must not wait for the resolver's thread.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(to.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  // "Expect:" takes libcurl's own out: waiting for "100 Continue" costs a second where the other side does not know it.
  for (const auto* header : {"Content-Type: application/json", "Expect:"})
    if (auto* list = curl_slist_append(request.headers.get(), header); list != request.headers.get()) request.headers.reset(list);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request.headers.get());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "rdmend/" RDMEND_VERSION);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &State::on_answer);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &request);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, request.words.data());
  curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
  curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, &State::on_debug);
  curl_easy_setopt(easy, CURLOPT_DEBUGDATA, &request);
  if (to.basic_auth) {
    curl_easy_setopt(easy, CURLOPT_USERNAME, to.basic_auth->username.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, to.basic_auth->password.c_str());
  }
  if (!to.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, to.ca_file.c_str());
  if (!to.cert_file.empty()) curl_easy_setopt(easy, CURLOPT_SSLCERT, to.cert_file.c_str());
  if (!to.key_file.empty()) curl_easy_setopt(easy, CURLOPT_SSLKEY, to.key_file.c_str());
  if (to.insecure_skip_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

void HttpClient::State::start(const config::Alertmanager& to, const std::string& url, std::unique_ptr<Request> request) {
  request->client = this;
  request->cause = cause;
  request->easy.reset(curl_easy_init());
  set_options(to, url, *request);
  CURL* easy = request->easy.get();
  requests[easy] = std::move(request);
  curl_multi_add_handle(multi.get(), easy);
  // Begins at once: on a kept connection the request leaves within this call, not a turn of the loop later.
  act(CURL_SOCKET_TIMEOUT, 0);
}

void HttpClient::State::act(curl_socket_t socket, int events) {
  const auto alive = shared_from_this();
  int running = 0;
  curl_multi_socket_action(multi.get(), socket, events, &running);
  for (auto& [request, code] : take_finished()) {
    long status = 0;
    curl_easy_getinfo(request->easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
      request->done(0, request->words[0] != '\0' ? request->words.data() : curl_easy_strerror(code));
    } else if (status < 200 || status >= 300) {
      const auto answer = printable(trim(request->answer));
      request->done(status, "HTTP status " + std::to_string(status) + (answer.empty() ? "" : ": " + answer));
    } else {
      request->done(status, {});
    }
  }
}

// Taken out first and told afterwards: who is told may post again at once.
std::vector<std::pair<std::unique_ptr<HttpClient::State::Request>, CURLcode>> HttpClient::State::take_finished() {
  std::vector<std::pair<std::unique_ptr<Request>, CURLcode>> out;
  int left = 0;
  while (const auto* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const auto code = message->data.result;  // the message is gone once its handle is removed
    curl_multi_remove_handle(multi.get(), easy);
    auto found = requests.extract(easy);
    if (found) out.emplace_back(std::move(found.mapped()), code);
  }
  return out;
}

HttpClient::HttpClient(Reactor& reactor) : state_(std::make_shared<State>(reactor)) {}
HttpClient::~HttpClient() = default;

void HttpClient::post(const config::Alertmanager& to, const std::string& url, std::string body,
                      std::function<void(long status, std::string error)> done) {
  auto request = std::make_unique<State::Request>();
  request->body = std::move(body);
  request->done = std::move(done);
  state_->start(to, url, std::move(request));
}

void HttpClient::set_cause(std::optional<Instant> cause) { state_->cause = cause; }
void HttpClient::on_sent(std::function<void(nanoseconds since_cause)> callback) { state_->sent = std::move(callback); }

}  // namespace rdmend::daemon
