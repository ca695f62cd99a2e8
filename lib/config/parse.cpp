// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "config/config.hpp"
#include "config/table.hpp"

namespace rdmend::config {
namespace {

// Walks the maps of the file by the paths of the table.
class Parse {
 public:
  Parse(yaml::Reader& reader, Config& config) : reader_(reader), config_(config) {}

  void section(const yaml::Node& node, const std::string& path) {
    reader_.each(node, path.empty() ? "the configuration" : path, [&](const yaml::Entry& entry) {
      this->entry(entry, path.empty() ? entry.key : path + "." + entry.key, path);
    });
  }
  // Where a key stands, for faults that only several keys together make.
  [[nodiscard]] Position seen(std::string_view path) const {
    for (const auto& [name, at] : seen_)
      if (name == path) return at;
    return {};
  }

 private:
  void entry(const yaml::Entry& entry, const std::string& path, const std::string& parent) {
    seen_.emplace_back(path, entry.value.at);
    for (const Field& field : fields())
      if (field.path == path && field.read != nullptr) return field.read(reader_, entry.value, field.path, config_);
    for (const LaterKey& later : later_keys())
      if (later.path == path) return reader_.error(entry.at, fmt::format("{}: not in this version: {}", path, later.why), "remove it");
    const auto children = legal_under(parent);
    if (std::find(children.begin(), children.end(), entry.key) != children.end()) return section(entry.value, path);
    reader_.error(entry.at, fmt::format("unknown key '{}'", printable(path, 120)), did_you_mean(entry.key, children));
  }

  static std::vector<std::string_view> legal_under(const std::string& parent) {
    const std::string prefix = parent.empty() ? "" : parent + ".";
    std::vector<std::string_view> out;
    for (const Field& field : fields()) {
      if (!field.path.starts_with(prefix) || field.read == nullptr) continue;
      const auto rest = field.path.substr(prefix.size());
      const auto word = rest.substr(0, rest.find('.'));
      if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    }
    return out;
  }

  yaml::Reader& reader_;
  Config& config_;
  std::vector<std::pair<std::string, Position>> seen_;
};

Config defaults(const std::string& hostname) {
  Config config;
  config.listen = {{"::", 9879, "", "[::]:9879"}, {"", 0, "/run/rdmend/http.sock", "unix:/run/rdmend/http.sock"}};
  if (!hostname.empty()) config.external_labels.set("instance", hostname);
  return config;
}

void check_together(const Config& config, const Parse& parse, yaml::Reader& reader) {
  if (config.remedies.hold_down > config.remedies.hold_down_max) {
    const Position at = parse.seen("remedies.hold_down_max").line > 0 ? parse.seen("remedies.hold_down_max") : parse.seen("remedies.hold_down");
    reader.error(at, fmt::format("remedies.hold_down ({}) is longer than remedies.hold_down_max ({})",
                                 format_duration(config.remedies.hold_down), format_duration(config.remedies.hold_down_max)));
  }
  if (config.mode == Mode::act && config.remedies.allow.empty())
    reader.warning(parse.seen("mode"), "mode: act allows nothing, for remedies.allow is empty", "name the kinds in remedies.allow");
}

}  // namespace

Config parse(const std::string& file, const std::string& text, const std::string& hostname, Diagnostics& diagnostics) {
  Config config = defaults(hostname);
  const auto root = yaml::parse(file, text, diagnostics);
  if (!root) return config;
  yaml::Reader reader(file, diagnostics);
  Parse walk(reader, config);
  walk.section(*root, "");
  check_together(config, walk, reader);
  return config;
}

}  // namespace rdmend::config
