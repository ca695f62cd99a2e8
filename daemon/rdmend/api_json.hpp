// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/event.hpp"
#include "model/labels.hpp"
#include "model/outcome.hpp"
#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

// Prometheus' envelope: {"status":"success","data":...}; bytes that are no UTF-8 are replaced.
HttpResponse success(const nlohmann::json& data);
// {"status":"error","errorType":...,"error":...}.
HttpResponse failure(int status, std::string_view type, std::string_view what);

nlohmann::json to_json(const Labels& labels);
nlohmann::json to_json(const Event& event);
nlohmann::json to_json(const JournalEntry& entry);
// RFC 3339; null for a time that has not come.
nlohmann::json to_json(Timestamp at);
double in_seconds(nanoseconds length);

// A `time` parameter: RFC 3339 or seconds since the epoch, with a fraction or not.
std::optional<Timestamp> parse_time(std::string_view text);
// A duration as Prometheus takes it in a parameter: "5s" or seconds, "0.5", which may be negative.
std::optional<milliseconds> parse_length(std::string_view text);
// `limit=N`, at most `most`; `fallback` when there is none.
std::optional<std::size_t> parse_limit(const HttpRequest& request, std::size_t fallback, std::size_t most);

}  // namespace rdmend::daemon
