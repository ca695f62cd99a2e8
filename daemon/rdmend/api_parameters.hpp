// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "rdmend/http_server.hpp"

namespace rdmend::daemon {

// Parameters as Prometheus reads them. An error is what Prometheus says of it, whole.

Error parameter_error(std::string_view name, std::string_view what);
// RFC 3339 or seconds since the epoch; `fallback` when there is none.
Result<Timestamp> time_parameter(const HttpRequest& request, std::string_view name, Timestamp fallback);
Result<Timestamp> time_parameter(const HttpRequest& request, std::string_view name);
Result<milliseconds> duration_parameter(const HttpRequest& request, std::string_view name);
// How many are wanted at most; all of them when it is not given, or 0.
Result<std::size_t> limit_parameter(const HttpRequest& request);

// 400 with the text of an error of the above.
HttpResponse bad_data(const Error& error);

}  // namespace rdmend::daemon
