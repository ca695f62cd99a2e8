// SPDX-License-Identifier: Apache-2.0
#include "rdmend/api.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.hpp"
#include "metrics/exposition.hpp"
#include "rdmend/api_json.hpp"

namespace rdmend::daemon {
namespace {

enum class For { everybody, control_readers, control_root };

struct Route {
  std::string_view path;  // NAME stands for any one part
  std::string_view methods;  // "GET POST"
  For whom;
  void (*handle)(Core&, const HttpRequest&, const Answer&);
};

void metrics_page(Core& core, const HttpRequest&, const Answer& answer) {
  const auto& wanted = core.settings->config.metrics;
  auto page = core.page.expose(core.store, core.loop.now().wall, {wanted.per_qp, wanted.max_series, wanted.node_exporter_names});
  answer({200, std::move(page.text), "text/plain; version=0.0.4; charset=utf-8"});
}

void healthy(Core&, const HttpRequest&, const Answer& answer) { answer({200, "rdmend is healthy.\n", "text/plain"}); }

void ready(Core& core, const HttpRequest&, const Answer& answer) {
  if (core.ready)
    answer({200, "rdmend is ready.\n", "text/plain"});
  else
    answer({503, "rdmend is reading its devices for the first time.\n", "text/plain"});
}

void index(Core&, const HttpRequest&, const Answer& answer);

constexpr std::array kRoutes{
    Route{"/", "GET", For::everybody, index},
    Route{"/metrics", "GET", For::everybody, metrics_page},
    Route{"/-/healthy", "GET", For::everybody, healthy},
    Route{"/-/ready", "GET", For::everybody, ready},
    Route{"/-/reload", "POST PUT", For::control_root, api_reload},
    Route{"/api/v1/query", "GET POST", For::everybody, api_query},
    Route{"/api/v1/query_range", "GET POST", For::everybody, api_query_range},
    Route{"/api/v1/series", "GET POST", For::everybody, api_series},
    Route{"/api/v1/labels", "GET POST", For::everybody, api_labels},
    Route{"/api/v1/label/NAME/values", "GET", For::everybody, api_label_values},
    Route{"/api/v1/rules", "GET", For::everybody, api_rules},
    Route{"/api/v1/alerts", "GET", For::everybody, api_alerts},
    Route{"/api/v1/status", "GET", For::everybody, api_status},
    Route{"/api/v1/qps", "GET", For::everybody, api_qps},
    Route{"/api/v1/remedies", "GET", For::everybody, api_remedies},
    Route{"/api/v1/history", "GET", For::everybody, api_history},
    Route{"/api/v1/events", "GET", For::everybody, api_events},
    Route{"/api/v1/explain", "GET", For::control_readers, api_explain},
    Route{"/api/v1/mode", "POST", For::control_root, api_mode},
    Route{"/api/v1/undo", "POST", For::control_root, api_undo},
    Route{"/api/v1/breaker", "POST", For::control_root, api_breaker},
};

void index(Core&, const HttpRequest&, const Answer& answer) {
  std::string text = "rdmend " RDMEND_VERSION "\n\n";
  for (const auto& route : kRoutes)
    text += fmt::format("{:<25} {}{}\n", route.path, route.methods, route.whom == For::everybody ? "" : " (control socket only)");
  answer({200, std::move(text), "text/plain"});
}

// "" when it may; else why not.
std::string forbidden(const Core& core, const Route& route, const HttpRequest& request) {
  if (route.whom == For::everybody) return {};
  if (!request.control)
    return fmt::format("{} is served on the control socket only ({})", route.path, core.settings->config.control_socket);
  if (route.whom == For::control_readers || request.peer_uid == 0U || request.peer_uid == getuid()) return {};
  return fmt::format("{} changes something: it is for root, you are user {}", route.path,
                     request.peer_uid ? std::to_string(*request.peer_uid) : "unknown");
}

bool leads(const Route& route, std::string_view path) {
  if (route.path.find("NAME") == std::string_view::npos) return route.path == path;
  const auto wanted = split(route.path, '/');
  const auto given = split(path, '/');
  return std::equal(wanted.begin(), wanted.end(), given.begin(), given.end(),
                    [](std::string_view part, std::string_view is) { return part == "NAME" ? !is.empty() : part == is; });
}

bool takes(std::string_view methods, std::string_view method) {
  const auto words = split(methods, ' ');
  return std::find(words.begin(), words.end(), method) != words.end();
}

}  // namespace

void serve(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto* route = std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& row) { return leads(row, request.path); });
  if (route == kRoutes.end()) {
    answer(failure(404, "not_found", fmt::format("there is no '{}' here; see /", printable(request.path, 64))));
  } else if (!takes(route->methods, request.method)) {
    answer(failure(405, "bad_method", fmt::format("{} takes {}, not {}", route->path, route->methods, printable(request.method, 16))));
  } else if (const auto why = forbidden(core, *route, request); !why.empty()) {
    answer(failure(403, "forbidden", why));
  } else {
    route->handle(core, request, answer);
  }
}

}  // namespace rdmend::daemon
