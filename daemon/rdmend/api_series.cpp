// SPDX-License-Identifier: Apache-2.0
// Which series there are, and their labels' names and values.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "promql/ast.hpp"
#include "rdmend/api.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/api_parameters.hpp"
#include "rdmend/api_result.hpp"

namespace rdmend::daemon {
namespace {

using Matchers = std::vector<store::Matcher>;

constexpr std::string_view kEmptyMatch = "match[] must contain at least one non-empty matcher";

struct Question {
  Timestamp from = Timestamp::min(), to = Timestamp::max();
  std::vector<Matchers> sets;  // empty: every series
};

Result<Matchers> metric_selector(std::string_view text) {
  const auto parsed = promql::parse(text);
  if (const auto* errors = std::get_if<1>(&parsed)) {
    if (errors->front().what.find("does not match the empty string") != std::string::npos) return Error{std::string(kEmptyMatch)};
    return Error{parse_errors(*errors)};
  }
  const auto& root = std::get<0>(parsed).root();
  const auto* selector = std::get_if<promql::VectorSelector>(&root.is);
  if (selector == nullptr || selector->when.has_offset || selector->when.anchor != promql::TimeModifiers::Anchor::none)
    return Error{"1:1: parse error: only a selector of series is allowed here, such as up{job=\"node\"}"};
  return selector->matchers;
}

// `named`: whether a fault of a match[] is told with its name, as /series does.
Result<Question> question_of(const HttpRequest& request, bool named) {
  Question out;
  const auto from = time_parameter(request, "start", out.from);
  if (!from) return from.error();
  const auto to = time_parameter(request, "end", out.to);
  if (!to) return to.error();
  // The store's ranges are open at the left.
  out.from = *from == Timestamp::min() ? *from : *from - milliseconds{1};
  out.to = *to;
  for (const auto text : request.values("match[]")) {
    auto matchers = metric_selector(text);
    if (!matchers) return named ? parameter_error("match[]", matchers.error().message) : matchers.error();
    out.sets.push_back(std::move(*matchers));
  }
  return out;
}

using Found = std::unordered_set<const Labels*>;

// Every series that is asked for, each once. The labels live until the store next changes. A thousand match[] are a thousand
// searches: the clock is read between them.
Result<Found> find(const Core& core, const Question& question) {
  Found out;
  static const std::vector<Matchers> kEverything{{}};
  const auto deadline = std::chrono::steady_clock::now() + core.settings->config.query.timeout;
  bool begun = false;
  for (const auto& matchers : question.sets.empty() ? kEverything : question.sets) {
    if (std::exchange(begun, true) && std::chrono::steady_clock::now() > deadline) return Error{"query timed out in the search of series", ETIME};
    core.store.select(matchers, question.from, question.to, [&](const Labels& labels, std::span<const store::Point>) { out.insert(&labels); });
  }
  return out;
}

Result<Found> search(const Core& core, const HttpRequest& request, bool named) {
  const auto question = question_of(request, named);
  if (!question) return question.error();
  return find(core, *question);
}

HttpResponse search_failed(const Error& error) { return error.code == ETIME ? failure(503, "timeout", error.message) : bad_data(error); }

HttpResponse word_list(const std::set<std::string_view>& words, std::size_t limit) {
  std::string out = "[";
  std::size_t count = 0;
  for (const auto word : words) {
    if (count++ == limit) break;
    if (out.size() > 1) out += ',';
    append_json(out, word);
  }
  return success_text(out + "]", words.size() > limit ? kTruncated : "");
}

}  // namespace

void api_series(Core& core, const HttpRequest& request, const Answer& answer) {
  if (request.values("match[]").empty()) return answer(bad_data({"no match[] parameter provided"}));
  const auto limit = limit_parameter(request);
  if (!limit) return answer(bad_data(limit.error()));
  const auto found = search(core, request, true);
  if (!found) return answer(search_failed(found.error()));
  std::vector<const Labels*> sorted(found->begin(), found->end());
  std::sort(sorted.begin(), sorted.end(), [](const Labels* a, const Labels* b) { return *a < *b; });
  const bool more = sorted.size() > *limit;
  if (more) sorted.resize(*limit);
  std::string out = "[";
  for (const auto* labels : sorted) {
    if (out.size() > 1) out += ',';
    append_json(out, *labels);
  }
  answer(success_text(out + "]", more ? kTruncated : ""));
}

void api_labels(Core& core, const HttpRequest& request, const Answer& answer) {
  const auto limit = limit_parameter(request);
  if (!limit) return answer(bad_data(limit.error()));
  const auto found = search(core, request, false);
  if (!found) return answer(search_failed(found.error()));
  std::set<std::string_view> names;
  for (const auto* labels : *found)
    for (const auto& [name, value] : *labels) names.insert(name);
  answer(word_list(names, *limit));
}

void api_label_values(Core& core, const HttpRequest& request, const Answer& answer) {
  static const RE2 legal("[a-zA-Z_][a-zA-Z0-9_]*");
  const auto name = split(request.path, '/').at(4);  // /api/v1/label/NAME/values, as its route says
  if (!RE2::FullMatch(re2::StringPiece(name.data(), name.size()), legal))
    return answer(bad_data({fmt::format("invalid label name: \"{}\"", printable(name, 64))}));
  const auto limit = limit_parameter(request);
  if (!limit) return answer(bad_data(limit.error()));
  const auto found = search(core, request, false);
  if (!found) return answer(search_failed(found.error()));
  std::set<std::string_view> values;
  for (const auto* labels : *found)
    if (const auto value = labels->get(name); !value.empty()) values.insert(value);
  answer(word_list(values, *limit));
}

}  // namespace rdmend::daemon
