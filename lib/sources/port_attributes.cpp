// SPDX-License-Identifier: Apache-2.0
#include "sources/port_attributes.hpp"

#include <cerrno>
#include <charconv>

#include "base/text.hpp"

namespace rdmend::sources {

std::optional<std::uint64_t> parse_state(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return parse_number(text.substr(0, colon));
}

std::optional<double> parse_rate(std::string_view text) {
  double gigabits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  if (error != std::errc{} || !(gigabits >= 0) || gigabits > 1e9) return std::nullopt;
  const auto unit = trim(std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  if (unit != "Gb/sec" && !unit.starts_with("Gb/sec ")) return std::nullopt;
  return gigabits * 1e9 / 8;
}

PortAttributeReader::PortAttributeReader(const std::string& port)
    : state_("ports/" + port + "/state"),
      physical_state_("ports/" + port + "/phys_state"),
      rate_("ports/" + port + "/rate"),
      link_layer_("ports/" + port + "/link_layer"),
      lid_("ports/" + port + "/lid"),
      sm_lid_("ports/" + port + "/sm_lid") {}

std::optional<std::string> PortAttributeReader::get(File& file, int device_dir, Instant now, PortAttributes& into) {
  if (!file.patience.due(now)) return std::nullopt;
  auto text = file.file.read(device_dir);
  if (text) {
    file.patience.answered();
    return std::move(*text);
  }
  const int error = text.error().code;
  file.patience.failed(error, now);
  // Old drivers lack phys_state: a file that is not there is no fault.
  const auto& path = file.file.path();
  if (error != ENOENT) into.faults.push_back({path.substr(path.rfind('/') + 1), error});
  return std::nullopt;
}

PortAttributes PortAttributeReader::read(int device_dir, Instant now) {
  PortAttributes attributes;
  if (const auto text = get(state_, device_dir, now, attributes)) attributes.state = parse_state(*text);
  if (const auto text = get(physical_state_, device_dir, now, attributes)) attributes.physical_state = parse_state(*text);
  if (const auto text = get(rate_, device_dir, now, attributes)) attributes.rate = parse_rate(*text);
  if (const auto text = get(link_layer_, device_dir, now, attributes)) attributes.link_layer = printable(*text, 32);
  if (attributes.link_layer != "InfiniBand") return attributes;
  if (const auto text = get(lid_, device_dir, now, attributes)) attributes.lid = parse_number(*text);
  if (const auto text = get(sm_lid_, device_dir, now, attributes)) attributes.sm_lid = parse_number(*text);
  return attributes;
}

}  // namespace rdmend::sources
