// SPDX-License-Identifier: Apache-2.0
#include "rdmend/gzip.hpp"

#include <zlib.h>

namespace rdmend::daemon {

std::optional<std::string> gzip(std::string_view text) {
  if (text.size() < kLeastToCompress || text.size() > kMostToCompress) return std::nullopt;
  constexpr int kGzip = 16;  // added to the window's bits: gzip's header instead of zlib's
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip + MAX_WBITS, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) != Z_OK) return std::nullopt;
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) return std::nullopt;
  return out;
}

}  // namespace rdmend::daemon
