// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/api_parameters.hpp"

namespace rdmend::daemon {
namespace {

using nlohmann::json;

constexpr std::size_t kUsualHistory = 100;

// `since`: a duration before now ("1h"), or a time; from the beginning when it is left out.
Result<Timestamp> begin_of(const HttpRequest& request, Timestamp now) {
  const auto& text = request.parameter("since");
  if (text.empty()) return Timestamp{};
  if (const auto length = parse_duration(text)) return now - *length;
  if (const auto at = parse_time(text)) return *at;
  return parameter_error("since", fmt::format("\"{}\" is neither a duration, such as 1h, nor a time", printable(text, 64)));
}

json journal_json(const journal::Journal& journal) {
  const auto status = journal.status();
  return {{"trouble", journal.trouble()}, {"entries", status.entries}, {"bytes", status.bytes}, {"dropped", status.dropped}, {"lost", status.lost}};
}

}  // namespace

// Decisions and outcomes as the disk has them, beyond what /api/v1/remedies knows by heart.
void api_history(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto since = begin_of(request, core.loop.now().wall);
  if (!since) return answer(bad_data(since.error()));
  const auto limit = parse_limit(request, kUsualHistory, journal::Journal::kMostHistory);
  if (!limit) return answer(bad_data(parameter_error("limit", fmt::format("'{}' is not a number from 1 up", printable(request.parameter("limit"), 32)))));
  core.journal.history(*since, *limit, [&core, answer](const std::vector<JournalEntry>& entries) {
    auto told = json::array();
    for (const auto& entry : entries) told.push_back(to_json(entry));
    answer(success({{"entries", std::move(told)}, {"journal", journal_json(core.journal)}}));
  });
}

}  // namespace rdmend::daemon
