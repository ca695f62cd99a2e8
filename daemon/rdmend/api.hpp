// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "promql/promql.hpp"
#include "rdmend/core.hpp"
#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

// Answers every HTTP request of every socket. What changes something is for the control socket and for root there.
void serve(Core& core, const HttpRequest& request, const Answer& answer);

// The handlers, one a path; api.cpp has the table.
// As Prometheus answers them (https://prometheus.io/docs/prometheus/latest/querying/api/).
void api_query(Core& core, const HttpRequest& request, const Answer& answer);
void api_query_range(Core& core, const HttpRequest& request, const Answer& answer);
void api_series(Core& core, const HttpRequest& request, const Answer& answer);
void api_labels(Core& core, const HttpRequest& request, const Answer& answer);
void api_label_values(Core& core, const HttpRequest& request, const Answer& answer);
void api_rules(Core& core, const HttpRequest& request, const Answer& answer);
void api_alerts(Core& core, const HttpRequest& request, const Answer& answer);
// Ours, in the same envelope.
void api_status(Core& core, const HttpRequest& request, const Answer& answer);
void api_qps(Core& core, const HttpRequest& request, const Answer& answer);
void api_remedies(Core& core, const HttpRequest& request, const Answer& answer);
void api_history(Core& core, const HttpRequest& request, const Answer& answer);
void api_events(Core& core, const HttpRequest& request, const Answer& answer);
void api_explain(Core& core, const HttpRequest& request, const Answer& answer);
// Changes.
void api_mode(Core& core, const HttpRequest& request, const Answer& answer);
void api_undo(Core& core, const HttpRequest& request, const Answer& answer);
void api_breaker(Core& core, const HttpRequest& request, const Answer& answer);
void api_reload(Core& core, const HttpRequest& request, const Answer& answer);

// One line a fault, "1:5: parse error: ...".
std::string parse_errors(const std::vector<promql::ParseError>& errors);

}  // namespace rdmend::daemon
