// SPDX-License-Identifier: Apache-2.0
#include "verbs/context.hpp"

#include <catch2/catch.hpp>

using namespace rdmend::verbs;

TEST_CASE("a device that is not there cannot be opened, and the error says which") {
  const auto opened = Context::open("no_such_device", std::nullopt);
  REQUIRE_FALSE(opened);
  // Where the kernel has no RDMA at all, listing fails already.
  CHECK_THAT(opened.error().message, Catch::StartsWith("opening no_such_device: ") || Catch::StartsWith("listing the verbs devices: "));
  CHECK(opened.error().code != 0);
}
