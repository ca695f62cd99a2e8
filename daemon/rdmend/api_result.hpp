// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "promql/promql.hpp"
#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

// Answers that may be large, written as text at once: a tree of JSON values of half a million points would take too long on the loop.

// Appends a JSON string; bytes that are no UTF-8 are replaced.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, const Labels& labels);

// {"resultType":...,"result":...}, as Prometheus' query APIs have it.
std::string result_json(const promql::Value& value, Timestamp at);

inline constexpr std::string_view kTruncated = "results truncated due to limit";
// Prometheus' envelope around a text that is JSON; `warning` may be empty.
HttpResponse success_text(std::string_view data, std::string_view warning = {});

}  // namespace rdmend::daemon
