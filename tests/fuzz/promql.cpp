// SPDX-License-Identifier: Apache-2.0
// An expression: what parses prints as something that parses to the same text, and is evaluated within small limits.
#include "promql/promql.hpp"

#include <cmath>

#include "fuzz/entry.hpp"

using namespace rdmend;

namespace {

constexpr Timestamp kNow{seconds{10'000}};

void fill(store::Store& store) {
  for (const char* name : {"a", "b", "up"})
    for (const char* device : {"rxe1", "rxe2"}) {
      const Labels labels{{std::string{kMetricName}, name}, {"device", device}, {"port", "1"}};
      for (int step = 0; step < 40; ++step) store.append(labels, kNow - seconds{15 * (40 - step)}, step % 13 == 12 ? std::nan("") : step % 9);
    }
}

const store::Store& filled() {
  static store::Store store{{.max_bytes = 1U << 20U, .retention = std::chrono::hours{1}}};
  static const bool once = (fill(store), true);
  fuzz::demand(once, "the store is filled");
  return store;
}

void evaluate(const promql::Expression& expression) {
  const promql::Limits limits{.max_samples = 5000, .timeout = milliseconds{20}};
  const auto value = promql::evaluate(expression, filled(), kNow, limits);
  if (value) fuzz::demand(value->index() == static_cast<std::size_t>(expression.type()), "the value has the expression's type");
  if (expression.type() != promql::ValueType::scalar && expression.type() != promql::ValueType::vector) return;
  const auto matrix = promql::evaluate_range(expression, filled(), kNow - seconds{60}, kNow, seconds{15}, limits);
  if (!matrix) fuzz::demand(!matrix.error().message.empty(), "an error says something");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = promql::parse(fuzz::text_of(data, size));
  if (const auto* errors = std::get_if<std::vector<promql::ParseError>>(&parsed)) {
    fuzz::demand(!errors->empty(), "what does not parse has a fault");
    for (const auto& error : *errors) fuzz::demand(error.at.line > 0 && error.at.column > 0 && !error.what.empty(), "a fault has a place and words");
    return 0;
  }
  const auto& expression = std::get<promql::Expression>(parsed);
  const std::string text = expression.text();
  const auto again = promql::parse(text);
  const auto* reparsed = std::get_if<promql::Expression>(&again);
  fuzz::demand(reparsed != nullptr, "the canonical text parses: " + text);
  fuzz::demand(reparsed->text() == text, "the canonical text is stable: " + text);
  evaluate(expression);
  return 0;
}
