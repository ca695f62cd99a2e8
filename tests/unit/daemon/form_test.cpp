// SPDX-License-Identifier: Apache-2.0
#include "rdmend/form.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>

#include "rdmend/gzip.hpp"

using namespace rdmend::daemon;

namespace {

Parameters form(std::string_view text) {
  Parameters out;
  CHECK(parse_form(text, out));
  return out;
}

std::string gunzipped(std::string& text) {
  std::string out(1U << 20U, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("forms are read in order, with what is no escape left as it is") {
  CHECK(form("").empty());
  CHECK(form("a=1&b=x+y%20z&a=2&&c&=v&d==") == Parameters{{"a", "1"}, {"b", "x y z"}, {"a", "2"}, {"c", ""}, {"", "v"}, {"d", "="}});
  CHECK(form("match%5B%5D=up&%zz=%&x=%4&y=%4g") == Parameters{{"match[]", "up"}, {"%zz", "%"}, {"x", "%4"}, {"y", "%4g"}});
  CHECK(form("a=%00b")[0].second == std::string("\0b", 2));
  std::string many;
  for (std::size_t i = 0; i < kMostParameters; ++i) many += "&a";
  CHECK(form(many).size() == kMostParameters);
  Parameters out;
  CHECK_FALSE(parse_form(many + "&a", out));
}

TEST_CASE("a target is a path and a query") {
  const auto target = [](std::string_view text) {
    const auto parsed = parse_target(text);
    return std::pair(parsed.path, parsed.query);
  };
  using Pair = std::pair<std::string, std::string>;
  CHECK(target("/a%20b+c?x=%20?y") == Pair{"/a b+c", "x=%20?y"});
  CHECK(target("/") == Pair{"/", ""});
  CHECK(target("") == Pair{"", ""});
  CHECK(target("*") == Pair{"*", ""});
  CHECK(target("/x#frag?y") == Pair{"/x", ""});
  CHECK(target("http://host:1/a?b") == Pair{"/a", "b"});
  CHECK(target("http://host") == Pair{"/", ""});
  CHECK(target("http://host?q") == Pair{"", "q"});
  CHECK(target("/a?u=http://x") == Pair{"/a", "u=http://x"});
}

TEST_CASE("gzip is answered to who takes it") {
  for (const auto* yes : {"gzip", "deflate, gzip;q=1.0, *;q=0.5", "GZip ; q=0.001", "*", "identity;q=0, *"}) {
    INFO(yes);
    CHECK(accepts_gzip(yes));
  }
  for (const auto* no : {"", "gzip;q=0", "gzip; q=0.000, *", "identity", "x-gzip-ed", "*;q=0", "gzip;level=9", "gzip;q=no"}) {
    INFO(no);
    CHECK_FALSE(accepts_gzip(no));
  }
}

TEST_CASE("what is compressed is the same when it is not") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "rdma_port_state{device=\"mlx5_" + std::to_string(i % 97) + "\"} 4\n";
  auto compressed = gzip(text);
  REQUIRE(compressed);
  CHECK(compressed->size() < text.size() / 5);
  CHECK(gunzipped(*compressed) == text);
  CHECK_FALSE(gzip(std::string(kLeastToCompress - 1, 'x')));
  CHECK_FALSE(gzip(std::string(kMostToCompress + 1, 'x')));
}
