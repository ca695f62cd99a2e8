// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmend::wire {

// Little-endian bytes, one after the other, whatever the host's order and padding.
class Writer {
 public:
  template <std::unsigned_integral T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put_bool(bool value) { put(static_cast<std::uint8_t>(value)); }
  void put_bytes(std::span<const std::uint8_t> bytes);
  // Length (16 bit), then the bytes; what is longer than `most` is cut.
  void put_string(std::string_view text, std::size_t most);
  // Overwrites the four bytes at `offset`: a length that is known only at the end.
  void patch(std::size_t offset, std::uint32_t value);
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a Writer wrote, from anybody. The first thing that does not fit makes it fail, and all later reads give zero.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <std::unsigned_integral T>
  T get() {
    T value = 0;
    const auto bytes = take(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) value = static_cast<T>(value | (static_cast<T>(bytes[i]) << (8 * i)));
    return value;
  }
  bool get_bool();  // anything but 0 and 1 fails
  void get_bytes(std::span<std::uint8_t> into);
  std::string get_string(std::size_t most);
  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t left() const { return failed_ ? 0 : rest_.size(); }

 private:
  std::span<const std::byte> take(std::size_t count);  // empty, and failed, when there are fewer

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace rdmend::wire
