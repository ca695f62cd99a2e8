// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_server.hpp"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <set>

#include "base/log.hpp"
#include "rdmend/clients.hpp"
#include "rdmend/gzip.hpp"
#include "rdmend/http_guard.hpp"

namespace rdmend::daemon {
namespace {

// A turn of the loop; what is left waits for the next one, after everybody else. A TLS handshake costs a thousand times more than an accept.
constexpr int kAcceptsAtOnce = 64;
constexpr int kHandshakesAtOnce = 4;
// Of libmicrohttpd's own limit, which must never be the one that is met.
constexpr unsigned kSpareConnections = 16;
constexpr milliseconds kNoDescriptors{100};

// One request and its answer.
struct Exchange {
  HttpRequest request;
  std::string query, body;
  std::optional<HttpResponse> response;
  MHD_Connection* connection = nullptr;
  Client* client = nullptr;
  bool begun = false, suspended = false;
};

const char* header(MHD_Connection* connection, const char* name) {
  const char* text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return text == nullptr ? "" : text;
}

std::size_t announced_length(MHD_Connection* connection) {
  const std::string_view text = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  std::size_t length = 0;
  if (text.empty()) return 0;
  const auto [end, fault] = std::from_chars(text.begin(), text.end(), length);
  return fault == std::errc{} && end == text.end() ? length : SIZE_MAX;
}

bool is_form(MHD_Connection* connection) {
  return std::string_view(header(connection, MHD_HTTP_HEADER_CONTENT_TYPE)).starts_with("application/x-www-form-urlencoded");
}

Client* client_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Client*>(info->socket_context);
}

}  // namespace

struct HttpServer::State {
  Reactor& reactor;
  std::shared_ptr<const Listener> listener;
  Options options;
  HttpHandler handler{};
  Guard guard{options.how};
  MHD_Daemon* daemon = nullptr;
  Clients clients{};
  std::set<std::shared_ptr<Exchange>> suspended{};
  Reactor::Handle accept_watch{}, watch{}, timer{}, sweeper{};

  Result<void> start_daemon();
  void watch_listener();
  void accept_some();
  void admit(UniqueFd connection);
  bool make_room();
  void run();
  void rearm();
  MHD_Result begin(Exchange& exchange, const char* method);
  MHD_Result proceed(const std::shared_ptr<Exchange>& exchange);
  void dispatch(const std::shared_ptr<Exchange>& exchange);
  void answer(const std::shared_ptr<Exchange>& exchange, HttpResponse response);
  MHD_Result queue(const Exchange& exchange, const HttpResponse& answer);

  static void* on_target(void* self, const char* target, MHD_Connection* connection);
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method, const char* version,
                               const char* data, size_t* size, void** context);
  static void on_completed(void* self, MHD_Connection* connection, void** context, MHD_RequestTerminationCode);
  static void on_connection(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what);
};

void HttpServer::State::watch_listener() {
  accept_watch = reactor.watch(listener->fd(), {true, false}, [this](Reactor::Ready) { accept_some(); });
}

void HttpServer::State::accept_some() {
  const int most = options.how.tls ? kHandshakesAtOnce : kAcceptsAtOnce;
  for (int i = 0; i < most; ++i) {
    auto connection = listener->accept();
    if (connection) {
      admit(std::move(connection));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // The next try needs a descriptor, and the socket would wake the loop until there is one.
      clients.drop_one();
      accept_watch = reactor.after(kNoDescriptors, [this] { watch_listener(); });
      break;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  run();
}

// False when nobody can be dropped.
bool HttpServer::State::make_room() {
  const auto& limits = options.limits;
  const auto is_full = [&] { return clients.size() >= limits.connections; };
  const auto is_busy = [&] { return options.how.tls && clients.newcomers() >= limits.handshakes; };
  if (is_busy())
    clients.drop_a_newcomer();
  else if (is_full())
    clients.drop_one();
  else
    return true;
  MHD_run(daemon);  // sees that the dropped one has hung up, and forgets it
  return !is_full() && !is_busy();
}

void HttpServer::State::admit(UniqueFd connection) {
  if (!make_room()) return;
  // libmicrohttpd wants an address and does nothing with it here.
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  MHD_add_connection(daemon, connection.release(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  MHD_run(daemon);
}

void HttpServer::State::run() {
  MHD_run(daemon);
  rearm();
}

void HttpServer::State::rearm() {
  timer.reset();
  MHD_UNSIGNED_LONG_LONG timeout = 0;
  if (MHD_get_timeout(daemon, &timeout) != MHD_YES) return;
  timer = reactor.after(milliseconds{std::min<MHD_UNSIGNED_LONG_LONG>(timeout, 60'000)}, [this] { run(); });
}

// The first that is known of a request: its target as it came.
void* HttpServer::State::on_target(void* self, const char* target, MHD_Connection* connection) {
  auto& state = *static_cast<State*>(self);
  auto exchange = std::make_shared<Exchange>();
  exchange->connection = connection;
  exchange->client = client_of(connection);
  if (exchange->client != nullptr) state.clients.settle(*exchange->client);
  auto parsed = parse_target(target);
  exchange->request.path = std::move(parsed.path);
  exchange->query = std::move(parsed.query);
  exchange->request.control = state.options.control;
  return new std::shared_ptr<Exchange>(std::move(exchange));
}

MHD_Result HttpServer::State::begin(Exchange& exchange, const char* method) {
  exchange.begun = true;
  exchange.request.method = std::string_view(method) == "HEAD" ? "GET" : method;
  ucred peer{};
  socklen_t length = sizeof peer;
  if (listener->local() && exchange.client != nullptr && getsockopt(exchange.client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
    exchange.request.peer_uid = peer.uid;
  if (auto refusal = guard.refuse(exchange.connection, exchange.client, reactor.now().mono))
    return queue(exchange, {refusal->status, std::move(refusal->text), "text/plain"});
  if (announced_length(exchange.connection) > options.limits.body) return queue(exchange, {413, "the body is too long\n", "text/plain"});
  return MHD_YES;
}

void HttpServer::State::dispatch(const std::shared_ptr<Exchange>& exchange) {
  auto& parameters = exchange->request.parameters;
  if ((is_form(exchange->connection) && !parse_form(exchange->body, parameters)) || !parse_form(exchange->query, parameters)) {
    exchange->response = HttpResponse{400, "there are too many parameters\n", "text/plain"};
    return;
  }
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

MHD_Result HttpServer::State::queue(const Exchange& exchange, const HttpResponse& answer) {
  std::optional<std::string> compressed;
  if (accepts_gzip(header(exchange.connection, MHD_HTTP_HEADER_ACCEPT_ENCODING))) compressed = gzip(answer.body);
  const auto& body = compressed ? *compressed : answer.body;
  while (clients.unsent() + body.size() > options.limits.answers && clients.drop_a_reader(exchange.client)) {
  }
  auto* response = MHD_create_response_from_buffer(body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  if (exchange.client != nullptr) clients.set_unsent(*exchange.client, body.size());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (compressed) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
  if (answer.body.size() >= kLeastToCompress) MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
  if (answer.status == 401) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic realm=\"rdmend\"");
  const auto result = MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return result;
}

MHD_Result HttpServer::State::proceed(const std::shared_ptr<Exchange>& exchange) {
  if (!exchange->response) dispatch(exchange);
  if (exchange->response) return queue(*exchange, *exchange->response);
  exchange->suspended = true;
  if (exchange->client != nullptr) exchange->client->waits_for_us = true;
  suspended.insert(exchange);
  MHD_suspend_connection(exchange->connection);
  return MHD_YES;
}

MHD_Result HttpServer::State::on_request(void* self, MHD_Connection*, const char*, const char* method, const char*, const char* data,
                                         size_t* size, void** context) {
  auto& state = *static_cast<State*>(self);
  const auto exchange = *static_cast<std::shared_ptr<Exchange>*>(*context);
  if (!exchange->begun) return state.begin(*exchange, method);
  if (*size == 0) return state.proceed(exchange);
  // A body of unannounced length that does not end: the connection is closed.
  if (exchange->body.size() + *size > state.options.limits.body) return MHD_NO;
  exchange->body.append(data, *size);
  *size = 0;
  return MHD_YES;
}

void HttpServer::State::on_completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
  if (*context == nullptr) return;
  auto& state = *static_cast<State*>(self);
  auto* exchange = static_cast<std::shared_ptr<Exchange>*>(*context);
  if (auto* client = (*exchange)->client; client != nullptr) {
    client->since = state.reactor.now().mono;
    state.clients.set_unsent(*client, 0);
  }
  state.suspended.erase(*exchange);
  delete exchange;
  *context = nullptr;
}

void HttpServer::State::on_connection(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode what) {
  auto& state = *static_cast<State*>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = state.clients.add(info == nullptr ? -1 : info->connect_fd, state.reactor.now().mono);
    return;
  }
  if (*context != nullptr) state.clients.remove(static_cast<Client*>(*context));
  *context = nullptr;
}

Result<void> HttpServer::State::start_daemon() {
  const auto& limits = options.limits;
  const auto idle = std::max<std::int64_t>(1, limits.idle.count() / 1000);
  unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;
  std::vector<MHD_OptionItem> more;
  const auto text = [&](MHD_OPTION which, const std::string& value) { more.push_back({which, 0, const_cast<char*>(value.c_str())}); };
  static const std::string kPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
  if (const auto& tls = options.how.tls) {
    flags |= MHD_USE_TLS;
    text(MHD_OPTION_HTTPS_PRIORITIES, kPriorities);
    text(MHD_OPTION_HTTPS_MEM_CERT, tls->cert);
    text(MHD_OPTION_HTTPS_MEM_KEY, tls->key);
    if (!tls->client_ca.empty()) text(MHD_OPTION_HTTPS_MEM_TRUST, tls->client_ca);
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});
  daemon = MHD_start_daemon(flags, 0, nullptr, nullptr, &State::on_request, this,                                                //
                            MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections) + kSpareConnections,          //
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.headers, MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(idle),
                            MHD_OPTION_URI_LOG_CALLBACK, &State::on_target, this, MHD_OPTION_NOTIFY_COMPLETED, &State::on_completed, this,
                            MHD_OPTION_NOTIFY_CONNECTION, &State::on_connection, this, MHD_OPTION_ARRAY, more.data(), MHD_OPTION_END);
  if (daemon == nullptr) return Error{"starting the HTTP server: out of memory or descriptors, or its certificate cannot be used", 0};
  return {};
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Reactor& reactor, std::shared_ptr<const Listener> listener, Options options,
                                                      HttpHandler handler) {
  auto state = std::make_unique<State>(State{reactor, std::move(listener), std::move(options), std::move(handler)});
  if (const auto started = state->start_daemon(); !started) return started.error();
  auto& s = *state;
  const auto* info = MHD_get_daemon_info(s.daemon, MHD_DAEMON_INFO_EPOLL_FD);
  s.watch = reactor.watch(info->epoll_fd, {true, false}, [&s](Reactor::Ready) { s.run(); });
  // libmicrohttpd's own time-out starts again with every byte; this one does not.
  const auto limit = s.options.limits.request;
  const auto handshake = s.options.how.tls ? std::min(limit, s.options.limits.handshake) : limit;
  s.sweeper = reactor.every(std::clamp(handshake / 4, milliseconds{10}, milliseconds{5000}), [&s, limit, handshake] {
    s.clients.drop_slow(s.reactor.now().mono, limit, handshake);
  });
  s.watch_listener();
  s.rearm();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->accept_watch.reset();
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

std::shared_ptr<const Listener> HttpServer::listener() const { return state_->listener; }
std::size_t HttpServer::connections() const { return state_->clients.size(); }
std::uint64_t HttpServer::dropped() const { return state_->clients.dropped(); }

}  // namespace rdmend::daemon
