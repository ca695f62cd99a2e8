// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace rdmend {

// What went wrong, in words for an operator; `code` is an errno where there is one, else 0.
struct Error {
  std::string message;
  int code = 0;

  // "reading gids/0: Invalid argument" from "Invalid argument"; the code stays.
  [[nodiscard]] Error within(const std::string& context) const& { return {context + ": " + message, code}; }
};

// "what: strerror(code)".
[[nodiscard]] inline Error errno_error(const std::string& what, int code) {
  return {what + ": " + std::strerror(code), code};  // NOLINT(concurrency-mt-unsafe)
}

// A value or an Error, shaped like std::expected. Reading value() of an error is a bug (it throws bad_variant_access).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}    // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !failed_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace rdmend
