// SPDX-License-Identifier: Apache-2.0
#include "sources/counter_dir.hpp"

#include <algorithm>
#include <cerrno>

namespace rdmend::sources {
namespace {

constexpr std::string_view kLifespan = "lifespan";  // how long the kernel answers from its cache: a setting, not a counter
constexpr milliseconds kLongestLifespan{10'000};    // the kernel's own limit

// mlx5's cache is refreshed by its first counter only, and then holds for all: that one goes first.
constexpr std::string_view kRefresher = "rx_write_requests";

}  // namespace

void CounterDir::relist(int at, Instant now) {
  next_list_ = now + kRelist;
  auto dir = open_dir(at, path_);
  if (!dir) {
    dir_.reset();
    files_.clear();
    return;
  }
  auto names = list_dir(dir->get(), ".");
  if (!names) return;
  dir_ = std::move(*dir);
  lifespan_ = milliseconds{0};
  std::vector<File> files;
  for (auto& name : *names) {
    if (name == kLifespan) {
      if (const auto text = read_file(dir_.get(), name))
        lifespan_ = std::min(milliseconds{static_cast<std::int64_t>(parse_number(*text).value_or(0) & 0xffffU)}, kLongestLifespan);
      continue;
    }
    const auto known = std::find_if(files_.begin(), files_.end(), [&](const File& f) { return f.name == name; });
    if (known != files_.end()) {
      known->file.let_go_if_deleted();
      files.push_back(std::move(*known));
    } else {
      files.push_back({KeptFile(name), name, {}});
    }
  }
  std::stable_partition(files.begin(), files.end(), [](const File& f) { return f.name == kRefresher; });
  files_ = std::move(files);
}

CounterReading CounterDir::read(int at, Instant now) {
  CounterReading reading;
  const bool first = next_list_ == Instant{};
  if (!first && now - last_read_ < lifespan_) {
    reading.skipped = true;
    return reading;
  }
  if (first || now >= next_list_) relist(at, now);
  last_read_ = now;
  bool vanished = false;
  reading.values.reserve(files_.size());
  for (auto& file : files_) {
    if (!file.patience.due(now)) continue;
    const auto text = file.file.read(dir_.get());
    const auto value = text ? parse_number(*text) : std::nullopt;
    if (value) {
      file.patience.answered();
      reading.values.emplace_back(file.name, *value);
      continue;
    }
    // "N/A (no PMA)": not supported, not an error.
    const bool not_supported = text && text->starts_with("N/A");
    const int error = not_supported ? EOPNOTSUPP : text ? EBADMSG : text.error().code;
    file.patience.failed(error, now);
    vanished = vanished || means_gone(error);
    if (!not_supported) reading.faults.push_back({file.name, error});
  }
  if (vanished) next_list_ = now;  // the directory was made anew (a driver reload): look again next time
  return reading;
}

}  // namespace rdmend::sources
