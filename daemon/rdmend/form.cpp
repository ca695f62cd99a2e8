// SPDX-License-Identifier: Apache-2.0
#include "rdmend/form.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace rdmend::daemon {
namespace {

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const auto* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

// Names of codings are not case sensitive.
bool same_word(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

// Of "gzip;q=0.5" the 0.5; what cannot be read is no.
bool wanted(std::string_view parameters) {
  parameters = trim(parameters);
  if (parameters.empty()) return true;
  if (!parameters.starts_with("q=") && !parameters.starts_with("Q=")) return false;
  double weight = 0;
  const auto text = trim(parameters.substr(2));
  std::from_chars(text.data(), text.data() + text.size(), weight);
  return weight > 0;
}

}  // namespace

bool parse_form(std::string_view text, Parameters& into) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    if (into.size() >= kMostParameters) return false;
    const auto equals = part.find('=');
    into.emplace_back(decoded(part.substr(0, equals), true), equals == std::string_view::npos ? "" : decoded(part.substr(equals + 1), true));
  }
  return true;
}

Target parse_target(std::string_view text) {
  // A proxy's form, http://host/path: the host is ours in any case.
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos && text.find_first_of("/?") > scheme) {
    const auto path = text.find_first_of("/?", scheme + 3);
    text = path == std::string_view::npos ? "/" : text.substr(path);
  }
  text = text.substr(0, text.find('#'));
  const auto question = text.find('?');
  return {decoded(text.substr(0, question), false), question == std::string_view::npos ? "" : std::string(text.substr(question + 1))};
}

bool accepts_gzip(std::string_view header) {
  bool any = false;
  for (const auto part : split(header, ',')) {
    const auto semicolon = part.find(';');
    const auto coding = trim(part.substr(0, semicolon));
    const bool yes = wanted(semicolon == std::string_view::npos ? std::string_view() : part.substr(semicolon + 1));
    if (same_word(coding, "gzip")) return yes;
    if (coding == "*") any = yes;
  }
  return any;
}

}  // namespace rdmend::daemon
