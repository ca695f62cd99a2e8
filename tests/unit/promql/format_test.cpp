// SPDX-License-Identifier: Apache-2.0
#include "promql/format.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "promql/promql.hpp"

using namespace rdmend::promql;

TEST_CASE("floats are printed with the fewest digits that read back equal, in Go's three layouts") {
  struct Row {
    double value;
    const char *api, *plain, *general;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const Row rows[] = {
      {0, "0", "0", "0"},
      {-0.0, "-0", "-0", "-0"},
      {1, "1", "1", "1"},
      {-1.5, "-1.5", "-1.5", "-1.5"},
      {0.1, "0.1", "0.1", "0.1"},
      {1.0 / 3, "0.3333333333333333", "0.3333333333333333", "0.3333333333333333"},
      {100000, "100000", "100000", "100000"},
      {1234567, "1234567", "1234567", "1.234567e+06"},
      {0.00001234, "0.00001234", "0.00001234", "1.234e-05"},
      {1e-6, "0.000001", "0.000001", "1e-06"},
      {1.5e-7, "1.5e-07", "0.00000015", "1.5e-07"},
      {1e20, "100000000000000000000", "100000000000000000000", "1e+20"},
      {1e21, "1e+21", "1000000000000000000000", "1e+21"},
      {1e23, "1e+23", "100000000000000000000000", "1e+23"},
      {1.7976931348623157e308, "1.7976931348623157e+308", nullptr, "1.7976931348623157e+308"},
      {5e-324, "5e-324", nullptr, "5e-324"},
      {9007199254740993.0, "9007199254740992", "9007199254740992", "9.007199254740992e+15"},
      {inf, "+Inf", "+Inf", "+Inf"},
      {-inf, "-Inf", "-Inf", "-Inf"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN", "NaN", "NaN"},
  };
  for (const auto& row : rows) {
    CHECK(format_value(row.value) == row.api);
    if (row.plain != nullptr) CHECK(format_plain(row.value) == row.plain);
    CHECK(format_general(row.value) == row.general);
  }
  CHECK(format_plain(1.7976931348623157e308).size() == 309);
}
