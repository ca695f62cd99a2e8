// SPDX-License-Identifier: Apache-2.0
// collection MAKE_SYSFS DEVICES ROUNDS: the files of a tree read by the barest loop there is, one pread a file on descriptors that are kept,
// and by rdmend's own parts in one thread, by turns. Prints the table of RESULTS.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "bench/measure.hpp"
#include "sources/device_reader.hpp"
#include "sources/device_series.hpp"
#include "store/store.hpp"
#include "support/child.hpp"
#include "support/command.hpp"

using namespace rdmend;

namespace {

// What rdmend reads of a port at each sampling.
std::vector<UniqueFd> open_files(const std::string& port) {
  std::vector<UniqueFd> files;
  const auto add = [&](const std::string& path) { files.emplace_back(open(path.c_str(), O_RDONLY | O_CLOEXEC)); };
  for (const auto* name : {"state", "phys_state", "rate", "link_layer", "lid", "sm_lid"}) add(port + "/" + name);
  for (const auto* directory : {"counters", "hw_counters"})
    for (const auto& entry : std::filesystem::directory_iterator(port + "/" + directory))
      if (entry.path().filename() != "lifespan") add(entry.path().string());
  return files;
}

std::size_t read_all(const std::vector<UniqueFd>& files) {
  std::size_t bytes = 0;
  char buffer[4096];
  for (const auto& file : files) bytes += static_cast<std::size_t>(std::max<ssize_t>(pread(file.get(), buffer, sizeof buffer, 0), 0));
  return bytes;
}

struct Stopwatch {
  std::vector<double> seconds;
  template <class Work>
  void time(const Work& work) {
    const double began = bench::own_cpu_seconds();
    work();
    seconds.push_back(bench::own_cpu_seconds() - began);
  }
  [[nodiscard]] double median() const { return bench::quantile(seconds, 0.5) * 1e6; }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: collection MAKE_SYSFS DEVICES ROUNDS\n");
    return 2;
  }
  const test::ScratchDirectory work("bench");
  const auto tree = work / "sysfs";
  const int devices = std::atoi(argv[2]), rounds = std::max(std::atoi(argv[3]), 2);
  if (test::run_command(fmt::format("{} {} {} 2>&1", argv[1], tree, devices)).status != 0) return 1;

  std::vector<UniqueFd> files;
  std::vector<sources::DeviceReader> readers;
  std::vector<sources::DeviceSeries> series;
  for (int device = 0; device < devices; ++device) {
    const auto name = fmt::format("mlx5_{}", device);
    std::ranges::move(open_files(fmt::format("{}/class/infiniband/{}/ports/1", tree, name)), std::back_inserter(files));
    sources::FoundDevice found;
    found.name = name;
    readers.emplace_back(tree, found, false);
    series.emplace_back(name);
  }
  store::Store store({});
  Stopwatch bare, reading, making;
  std::size_t bytes = 0, samples = 0;
  // Time is what we say: a second a round, so that the kernel's `lifespan` lets every round read.
  Instant mono{std::chrono::hours{1}};
  Timestamp wall{std::chrono::hours{480'000}};
  for (int round = 0; round < rounds; ++round, mono += seconds{1}, wall += seconds{1}) {
    bare.time([&] { bytes += read_all(files); });
    std::vector<sources::DeviceReading> readings;
    reading.time([&] {
      for (auto& reader : readers) readings.push_back(reader.read({.now = mono, .identity = round == 0, .hw = true, .counters = true, .only_port = {}}));
    });
    making.time([&] {
      for (std::size_t device = 0; device < readings.size(); ++device)
        for (auto& scope : series[device].take(readings[device]).scopes) {
          samples += scope.samples.size();
          store.ingest({.scope = scope.name, .at = wall, .samples = std::move(scope.samples)});
        }
    });
  }
  if (bytes == 0 || samples == 0) return 1;
  const double floor = bare.median();
  fmt::print("\n| {} devices, {} files, {} series | CPU of a collection | ratio | aim |\n|---|---|---|---|\n", devices, files.size(), samples / static_cast<std::size_t>(rounds));
  fmt::print("| one `pread` a file, descriptors kept, nothing else | {:.0f} us | 1 | |\n", floor);
  fmt::print("| rdmend's readers: patience, deadlines' bookkeeping, text to numbers | {:.0f} us | {:.2f} | 2 |\n", reading.median(), reading.median() / floor);
  fmt::print("| and the series made of it, kept in the store | {:.0f} us | {:.2f} | 2 |\n", reading.median() + making.median(), (reading.median() + making.median()) / floor);
  return 0;
}
