// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "model/labels.hpp"

namespace rdmend::sources {

// The label sets of one scope, in the order in which its samples are made. A scope has the same series second after second: each
// is made once, and again only when another stands at its place.
class MadeLabels {
 public:
  using Wanted = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  void rewind() { next_ = 0; }
  // The next one. `wanted` is sorted by name; empty values are absent labels.
  const Labels& next(Wanted wanted);

 private:
  std::vector<Labels> made_;
  std::size_t next_ = 0;
};

}  // namespace rdmend::sources
