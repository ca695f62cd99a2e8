// SPDX-License-Identifier: Apache-2.0
#include "wire/bytes.hpp"

#include <algorithm>

namespace rdmend::wire {

void Writer::put_bytes(std::span<const std::uint8_t> bytes) {
  for (const auto byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
}

void Writer::put_string(std::string_view text, std::size_t most) {
  text = text.substr(0, std::min<std::size_t>(most, 0xffff));
  put(static_cast<std::uint16_t>(text.size()));
  for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
}

void Writer::patch(std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes_.at(offset + i) = static_cast<std::byte>(value >> (8 * i));
}

std::span<const std::byte> Reader::take(std::size_t count) {
  if (failed_ || count > rest_.size()) {
    failed_ = true;
    return {};
  }
  const auto taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

bool Reader::get_bool() {
  const auto value = get<std::uint8_t>();
  if (value > 1) fail();
  return value == 1;
}

void Reader::get_bytes(std::span<std::uint8_t> into) {
  const auto bytes = take(into.size());
  std::transform(bytes.begin(), bytes.end(), into.begin(), [](std::byte b) { return static_cast<std::uint8_t>(b); });
}

std::string Reader::get_string(std::size_t most) {
  const std::size_t length = get<std::uint16_t>();
  if (length > most) fail();
  const auto bytes = take(length);
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(), [](std::byte b) { return static_cast<char>(b); });
  return text;
}

}  // namespace rdmend::wire
