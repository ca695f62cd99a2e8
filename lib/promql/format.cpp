// SPDX-License-Identifier: Apache-2.0
#include "promql/format.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "promql/promql.hpp"

namespace rdmend::promql {
namespace {

// A finite number as 0.DIGITS x 10^point. std::to_chars writes all digits of a large number in its fixed form
// where Go writes zeros, so that the layout is made here from the scientific form, whose digits are the
// shortest.
struct Decimal {
  std::string sign, digits;
  int point = 0;
};

Decimal decimal(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto e = text.find('e');
  Decimal out;
  if (std::signbit(value)) out.sign = "-";
  for (const char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  int exponent = 0;
  const auto from = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + from, text.data() + text.size(), exponent);
  out.point = value == 0 ? 1 : exponent + 1;
  return out;
}

std::string fixed(const Decimal& number) {
  const auto count = static_cast<int>(number.digits.size());
  if (number.point <= 0)
    return number.sign + "0." + std::string(static_cast<std::size_t>(-number.point), '0') + number.digits;
  if (number.point >= count)
    return number.sign + number.digits + std::string(static_cast<std::size_t>(number.point - count), '0');
  const auto whole = static_cast<std::size_t>(number.point);
  return number.sign + number.digits.substr(0, whole) + "." + number.digits.substr(whole);
}

std::string scientific(const Decimal& number) {
  const auto fraction = number.digits.substr(1);
  return fmt::format("{}{}{}{}e{:+03}", number.sign, number.digits[0], fraction.empty() ? "" : ".", fraction,
                     number.point - 1);
}

const char* special(double value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

}  // namespace

std::string format_plain(double value) {
  return std::isfinite(value) ? fixed(decimal(value)) : special(value);
}

std::string format_general(double value) {
  if (!std::isfinite(value)) return special(value);
  const auto number = decimal(value);
  return number.point - 1 < -4 || number.point - 1 >= 6 ? scientific(number) : fixed(number);
}

std::string format_value(double value) {
  if (!std::isfinite(value)) return special(value);
  const auto size = std::fabs(value);
  return size != 0 && (size < 1e-6 || size >= 1e21) ? scientific(decimal(value)) : fixed(decimal(value));
}

}  // namespace rdmend::promql
