// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_server.hpp"

#include <fcntl.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <set>
#include <unordered_set>

#include "base/log.hpp"
#include "base/text.hpp"
#include "rdmend/form.hpp"

namespace rdmend::daemon {
namespace {

// One client's connection, as far as the server's own clock is concerned.
struct Client {
  int fd = -1;
  Instant since{};
  bool waits_for_us = false;
};

// One request and its answer.
struct Exchange {
  HttpRequest request;
  std::string body;
  std::optional<HttpResponse> response;
  MHD_Connection* connection = nullptr;
  Client* client = nullptr;
  bool suspended = false;
};

MHD_Result queue(MHD_Connection* connection, const HttpResponse& answer) {
  auto* response = MHD_create_response_from_buffer(answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  const auto result = MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return result;
}

std::size_t announced_length(MHD_Connection* connection) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  if (text == nullptr) return 0;
  std::size_t length = 0;
  const std::string_view view(text);
  const auto [end, fault] = std::from_chars(view.begin(), view.end(), length);
  return fault == std::errc{} && end == view.end() ? length : SIZE_MAX;
}

bool is_form(MHD_Connection* connection) {
  const char* type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
  return type != nullptr && std::string_view(type).starts_with("application/x-www-form-urlencoded");
}

MHD_Result take_argument(void* parameters, MHD_ValueKind, const char* key, const char* value) {
  auto& map = *static_cast<decltype(HttpRequest::parameters)*>(parameters);
  map.insert_or_assign(key, value == nullptr ? "" : value);
  return MHD_YES;
}

}  // namespace

struct HttpServer::State {
  Reactor& reactor;
  Listener listener;
  bool control;
  Limits limits;
  HttpHandler handler{};
  MHD_Daemon* daemon = nullptr;
  std::unordered_set<Client*> clients{};
  std::set<std::shared_ptr<Exchange>> suspended{};
  bool closed_one = false;
  Reactor::Handle watch{}, timer{}, sweeper{};

  void run();
  void rearm();
  void sweep();
  std::shared_ptr<Exchange> begin(MHD_Connection* connection, const char* path, const char* method);
  MHD_Result proceed(const std::shared_ptr<Exchange>& exchange);
  void dispatch(const std::shared_ptr<Exchange>& exchange);
  void answer(const std::shared_ptr<Exchange>& exchange, HttpResponse response);

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method, const char* version,
                               const char* data, size_t* size, void** context);
  static void on_completed(void* self, MHD_Connection* connection, void** context, MHD_RequestTerminationCode);
  static void on_connection(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what);
};

void HttpServer::State::run() {
  MHD_run(daemon);
  // At the limit of connections MHD listens again only in the run after one was closed.
  if (std::exchange(closed_one, false)) MHD_run(daemon);
  rearm();
}

void HttpServer::State::rearm() {
  timer.reset();
  MHD_UNSIGNED_LONG_LONG timeout = 0;
  if (MHD_get_timeout(daemon, &timeout) != MHD_YES) return;
  timer = reactor.after(milliseconds{std::min<MHD_UNSIGNED_LONG_LONG>(timeout, 60'000)}, [this] { run(); });
}

// MHD's own time-out starts again with every byte; this one does not.
void HttpServer::State::sweep() {
  const auto now = reactor.now().mono;
  for (auto* client : clients)
    if (!client->waits_for_us && now - client->since > limits.request) shutdown(client->fd, SHUT_RDWR);
}

std::shared_ptr<Exchange> HttpServer::State::begin(MHD_Connection* connection, const char* path, const char* method) {
  auto exchange = std::make_shared<Exchange>();
  exchange->connection = connection;
  auto& request = exchange->request;
  request.path = path;
  request.method = std::string_view(method) == "HEAD" ? "GET" : method;
  request.control = control;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &take_argument, &request.parameters);
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (info != nullptr) exchange->client = static_cast<Client*>(info->socket_context);
  ucred peer{};
  socklen_t length = sizeof peer;
  if (listener.local() && exchange->client != nullptr &&
      getsockopt(exchange->client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
    request.peer_uid = peer.uid;
  return exchange;
}

void HttpServer::State::dispatch(const std::shared_ptr<Exchange>& exchange) {
  if (!exchange->body.empty() && is_form(exchange->connection)) parse_form(exchange->body, exchange->request.parameters);
  try {
    handler(exchange->request, [this, weak = std::weak_ptr(exchange)](HttpResponse response) {
      if (const auto strong = weak.lock()) answer(strong, std::move(response));
    });
  } catch (const std::exception& fault) {
    log::error("http", "a handler threw", {{"path", exchange->request.path}, {"what", fault.what()}});
    exchange->response = HttpResponse{500, "internal error\n", "text/plain"};
  }
}

// The exchange is alive only as long as its server, so `this` is.
void HttpServer::State::answer(const std::shared_ptr<Exchange>& exchange, HttpResponse response) {
  if (exchange->response) return;
  exchange->response = std::move(response);
  if (!std::exchange(exchange->suspended, false)) return;
  suspended.erase(exchange);
  if (exchange->client != nullptr) {
    exchange->client->waits_for_us = false;
    exchange->client->since = reactor.now().mono;
  }
  MHD_resume_connection(exchange->connection);
  // It wakes nobody: the connection goes on in the next run, and without traffic none would come.
  timer = reactor.after(milliseconds{0}, [this] { run(); });
}

MHD_Result HttpServer::State::proceed(const std::shared_ptr<Exchange>& exchange) {
  if (!exchange->response) dispatch(exchange);
  if (exchange->response) return queue(exchange->connection, *exchange->response);
  exchange->suspended = true;
  if (exchange->client != nullptr) exchange->client->waits_for_us = true;
  suspended.insert(exchange);
  MHD_suspend_connection(exchange->connection);
  return MHD_YES;
}

MHD_Result HttpServer::State::on_request(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                                         const char* data, size_t* size, void** context) {
  auto& state = *static_cast<State*>(self);
  if (*context == nullptr) {
    *context = new std::shared_ptr<Exchange>(state.begin(connection, path, method));
    if (announced_length(connection) > state.limits.body)
      return queue(connection, {413, "the body is too long\n", "text/plain"});
    return MHD_YES;
  }
  const auto exchange = *static_cast<std::shared_ptr<Exchange>*>(*context);
  if (*size == 0) return state.proceed(exchange);
  // A body of unannounced length that does not end: the connection is closed.
  if (exchange->body.size() + *size > state.limits.body) return MHD_NO;
  exchange->body.append(data, *size);
  *size = 0;
  return MHD_YES;
}

void HttpServer::State::on_completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
  if (*context == nullptr) return;
  auto* exchange = static_cast<std::shared_ptr<Exchange>*>(*context);
  if ((*exchange)->client != nullptr) (*exchange)->client->since = static_cast<State*>(self)->reactor.now().mono;
  static_cast<State*>(self)->suspended.erase(*exchange);
  delete exchange;
  *context = nullptr;
}

void HttpServer::State::on_connection(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what) {
  auto& state = *static_cast<State*>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    auto* client = new Client{info == nullptr ? -1 : info->connect_fd, state.reactor.now().mono};
    state.clients.insert(client);
    *context = client;
    return;
  }
  auto* client = static_cast<Client*>(*context);
  state.clients.erase(client);
  state.closed_one = true;
  delete client;
  *context = nullptr;
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Reactor& reactor, Listener listener, bool control, Limits limits,
                                                      HttpHandler handler) {
  auto state = std::make_unique<State>(State{reactor, std::move(listener), control, limits, std::move(handler)});
  // MHD closes the socket that it is given; ours stays ours.
  UniqueFd copy(fcntl(state->listener.fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return errno_error("copying the listening socket", errno);
  const auto idle = std::max<std::int64_t>(1, limits.idle.count() / 1000);
  state->daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &State::on_request, state.get(),                         //
      MHD_OPTION_LISTEN_SOCKET, copy.get(),                                                                                   //
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections),                                                 //
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, state->listener.local() ? 0U : static_cast<unsigned>(limits.per_address),           //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.headers, MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(idle),         //
      MHD_OPTION_NOTIFY_COMPLETED, &State::on_completed, state.get(), MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, state.get(),
      MHD_OPTION_END);
  if (state->daemon == nullptr) return Error{"starting the HTTP server: out of memory or descriptors", 0};
  copy.release();
  auto& s = *state;
  const auto* info = MHD_get_daemon_info(s.daemon, MHD_DAEMON_INFO_EPOLL_FD);
  s.watch = reactor.watch(info->epoll_fd, {true, false}, [&s](Reactor::Ready) { s.run(); });
  s.sweeper = reactor.every(std::clamp(limits.request / 4, milliseconds{10}, milliseconds{5000}), [&s] { s.sweep(); });
  s.rearm();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->watch.reset();
  state_->timer.reset();
  state_->sweeper.reset();
  // MHD must not be stopped while a connection is suspended.
  while (!state_->suspended.empty()) {
    const auto exchange = *state_->suspended.begin();
    state_->answer(exchange, {503, "rdmend is stopping\n", "text/plain"});
  }
  MHD_run(state_->daemon);
  MHD_stop_daemon(state_->daemon);
}

const Listener& HttpServer::listener() const { return state_->listener; }
std::size_t HttpServer::connections() const { return state_->clients.size(); }

const std::string& HttpRequest::parameter(std::string_view name) const {
  static const std::string kNone;
  const auto at = parameters.find(name);
  return at == parameters.end() ? kNone : at->second;
}

}  // namespace rdmend::daemon
