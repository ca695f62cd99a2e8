// SPDX-License-Identifier: Apache-2.0
#include "rdmend/form.hpp"

#include <charconv>

#include "base/text.hpp"

namespace rdmend::daemon {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const auto* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

void parse_form(std::string_view body, std::map<std::string, std::string, std::less<>>& parameters) {
  for (const auto part : split(body, '&')) {
    const auto equals = part.find('=');
    if (part.empty()) continue;
    parameters.insert_or_assign(decoded(part.substr(0, equals)), equals == std::string_view::npos ? "" : decoded(part.substr(equals + 1)));
  }
}

}  // namespace rdmend::daemon
