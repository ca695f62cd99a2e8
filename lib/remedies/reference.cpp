// SPDX-License-Identifier: Apache-2.0
#include "remedies/reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "advice/topics.hpp"

namespace rdmend::remedies {

std::string reference_head(const KindRow& row) {
  auto page = fmt::format("# {}\n\nThis remedy {}.\n\n", row.kind, row.help);
  page += row.params.empty() ? "It takes no parameter.\n"
                             : "| parameter | value | default | what it is |\n|---|---|---|---|\n";
  for (const auto& param : row.params)
    page += fmt::format(
        "| `{}` | {} | {} | {} |\n", param.name, param.type,
        param.default_value.empty() ? std::string() : fmt::format("`{}`", param.default_value), param.help);
  const bool has_topics =
      std::any_of(row.params.begin(), row.params.end(), [](const ParamRow& p) { return p.type == "topic"; });
  if (has_topics) {
    page += "\n| topic | what it advises on |\n|---|---|\n";
    for (const auto& topic : advice::topics()) page += fmt::format("| `{}` | {} |\n", topic.name, topic.help);
  }
  return page + "\n" + std::string(kPageMarker);
}

}  // namespace rdmend::remedies
