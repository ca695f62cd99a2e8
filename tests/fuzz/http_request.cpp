// SPDX-License-Identifier: Apache-2.0
// What is ours of reading an HTTP request: the target, the query, a form's body, a header, and the parameters that they bring.
#include "fuzz/entry.hpp"
#include "rdmend/api_json.hpp"
#include "rdmend/api_parameters.hpp"
#include "rdmend/api_result.hpp"
#include "rdmend/form.hpp"

using namespace rdmend;
using namespace rdmend::daemon;

namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

void parameters(std::string_view text) {
  Parameters read;
  const bool all = parse_form(text, read);
  fuzz::demand(read.size() <= kMostParameters && (all || read.size() == kMostParameters), "the parameters are capped");
  std::string again;
  for (const auto& [name, value] : read) again += encoded(name) + "=" + encoded(value) + "&";
  Parameters reread;
  parse_form(again, reread);
  fuzz::demand(reread == read, "parameters that are written as a form are read back");
  HttpRequest request;
  request.parameters = std::move(read);
  std::size_t looked_at = 0;
  for (const auto& [name, value] : request.parameters) {
    if (++looked_at > 8) break;
    fuzz::demand(!request.values(name).empty() && request.values(name).front() == request.parameter(name), "the first of a name is its value");
    if (const auto at = time_parameter(request, name)) fuzz::demand(std::abs(at->time_since_epoch().count()) <= 9'100'000'000'000'000, "a time is one that can be added to");
    if (const auto length = duration_parameter(request, name); !length) fuzz::demand(length.error().message.starts_with("invalid parameter \""), "a fault says where");
  }
  if (const auto limit = limit_parameter(request)) fuzz::demand(*limit > 0, "a limit leaves something");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto target = parse_target(text);
  fuzz::demand(target.path.size() + target.query.size() <= text.size() + 1, "a target does not grow");
  parameters(target.query);
  parameters(text);
  accepts_gzip(text);
  std::string json;
  append_json(json, text);
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  fuzz::demand(parsed.is_string(), "a string of JSON is one, whatever is in it");
  return 0;
}
