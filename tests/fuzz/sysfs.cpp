// SPDX-License-Identifier: Apache-2.0
// What the files of a device say. The input is fields with a NUL byte between: what stands in each of kFiles, then the names and values
// of hw counters. '|' within a field parts what stands there at one reading from what stands there at the next; nothing: there is no such file.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "base/text.hpp"
#include "fuzz/entry.hpp"
#include "sources/device_reader.hpp"
#include "sources/device_series.hpp"
#include "support/temp_directory.hpp"

using namespace rdmend;
using namespace rdmend::sources;

namespace {

constexpr std::size_t kMostRounds = 4;
constexpr std::size_t kMostFields = 40;
const std::string kDevice = "class/infiniband/mlx5_0/";
const std::array<std::string, 15> kFiles{kDevice + "fw_ver",
                                         kDevice + "node_guid",
                                         kDevice + "hca_type",
                                         kDevice + "board_id",
                                         kDevice + "ports/1/state",
                                         kDevice + "ports/1/phys_state",
                                         kDevice + "ports/1/rate",
                                         kDevice + "ports/1/link_layer",
                                         kDevice + "ports/1/lid",
                                         kDevice + "ports/1/sm_lid",
                                         kDevice + "ports/1/gid_attrs/ndevs/0",
                                         kDevice + "ports/1/counters/port_xmit_data",
                                         kDevice + "hw_counters/lifespan",
                                         kDevice + "ports/1/hw_counters/lifespan",
                                         "class/net/eth0/carrier_down_count"};
using Files = std::map<std::string, std::string>;

bool is_file_name(std::string_view name) { return !name.empty() && name.size() < 256 && name != "." && name != ".." && name.find('/') == std::string_view::npos; }

// One tree for all inputs; only what differs from the last is written.
class Sysfs {
 public:
  Sysfs() {
    for (const char* directory : {"hw_counters", "ports/1/counters", "ports/1/hw_counters", "ports/1/gid_attrs/ndevs"}) std::filesystem::create_directories(root_.file(kDevice + directory));
    std::filesystem::create_directories(root_.file("class/net/eth0"));
  }
  void become(Files files) {
    for (const auto& [name, text] : files_)
      if (!files.contains(name)) std::filesystem::remove(root_.file(name));
    for (const auto& [name, text] : files)
      if (const auto before = files_.find(name); before == files_.end() || before->second != text) root_.write(name, text);
    files_ = std::move(files);
  }
  [[nodiscard]] const std::string& path() const { return root_.path(); }

 private:
  test::TempDirectory root_;
  Files files_;
};

std::vector<Files> rounds_of(std::string_view input) {
  auto fields = split(input, '\0');
  fields.resize(std::min(fields.size(), kMostFields));
  std::vector<Files> rounds(1);
  const auto put = [&](const std::string& file, std::string_view field) {
    const auto texts = split(field, '|');
    while (rounds.size() < std::min(texts.size(), kMostRounds)) rounds.push_back(rounds.back());
    for (std::size_t i = 0; i < rounds.size(); ++i)
      if (const auto text = texts[std::min(i, texts.size() - 1)]; text.empty())
        rounds[i].erase(file);
      else
        rounds[i][file] = text;
  };
  for (std::size_t i = 0; i < fields.size() && i < kFiles.size(); ++i) put(kFiles[i], fields[i]);
  for (std::size_t i = kFiles.size(); i + 1 < fields.size(); i += 2)
    if (is_file_name(fields[i])) put(kDevice + "ports/1/hw_counters/" + std::string(fields[i]), fields[i + 1]);
  return rounds;
}

using Values = std::map<std::string, double>;

void take(const std::vector<Sample>& samples, Values& into) {
  for (const auto& [labels, value] : samples) {
    fuzz::demand(std::isfinite(value) && value >= 0, "a value is a number that is not negative: " + labels.text());
    for (const auto& [name, text] : labels) fuzz::demand(text.size() <= 4 * 255, "a label is short: " + name);
    fuzz::demand(into.emplace(labels.text(), value).second, "a series stands once in a reading: " + labels.text());
  }
}

// A raw counter that fell has been reset, and that is said.
void compare(const Values& before, const Values& now, std::size_t resets) {
  std::size_t fallen = 0;
  for (const auto& [series, value] : now)
    if (const auto known = before.find(series); series.starts_with("rdma_raw_total{") && known != before.end() && value < known->second) ++fallen;
  fuzz::demand(fallen <= resets, "a raw counter falls at a reset only");
}

void check_attributes(const PortReading& port) {
  const auto& attributes = port.attributes;
  fuzz::demand(!attributes.rate || (*attributes.rate >= 0 && *attributes.rate < 1e18), "a rate is one");
  fuzz::demand(attributes.link_layer.size() <= 4 * 32 + 3, "a link layer is short");
  fuzz::demand(port.netdev.find('/') == std::string::npos && port.netdev != "..", "a network device has a file name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Sysfs sysfs;
  DeviceReader reader(sysfs.path(), {.name = "mlx5_0"}, false);
  DeviceSeries series("mlx5_0");
  Instant now{std::chrono::hours{1}};
  Values before;
  for (auto& files : rounds_of(fuzz::text_of(data, size))) {
    sysfs.become(std::move(files));
    now += std::chrono::minutes{20};  // all that failed is asked again
    const auto reading = reader.read({.now = now, .identity = true, .hw = true, .counters = true});
    fuzz::demand(reading.error == 0 && reading.identity && reading.ports.size() == 1, "the device is read, whatever it says");
    check_attributes(reading.ports.front());
    const auto made = series.take(reading);
    Values values;
    for (const auto& scope : made.scopes) take(scope.samples, values);
    take(series.honesty(false), values);
    std::size_t resets = 0;
    for (const auto& reset : made.resets) resets += reset.counters.size();
    compare(before, values, resets);
    before = std::move(values);
  }
  return 0;
}
