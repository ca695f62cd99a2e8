// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/text.hpp"

namespace rdmend::log {
namespace {

// systemd sets JOURNAL_STREAM to the device and inode of the stream that it connected stderr to.
bool stderr_is_the_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
  struct stat info {};
  if (stream == nullptr || fstat(STDERR_FILENO, &info) != 0) return false;
  return std::string_view(stream) == fmt::format("{}:{}", info.st_dev, info.st_ino);
}

struct Sink {
  bool journal = stderr_is_the_journal();
  std::shared_ptr<spdlog::logger> terminal = [] {
    auto logger = std::make_shared<spdlog::logger>("rdmend", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    return logger;
  }();
};

Sink& sink() {
  static Sink instance;
  return instance;
}

int priority(Level level) {
  switch (level) {
    case Level::error: return 3;
    case Level::warning: return 4;
    case Level::info: return 6;
    case Level::debug: break;
  }
  return 7;
}

spdlog::level::level_enum spd_level(Level level) {
  switch (level) {
    case Level::error: return spdlog::level::err;
    case Level::warning: return spdlog::level::warn;
    case Level::info: return spdlog::level::info;
    case Level::debug: break;
  }
  return spdlog::level::debug;
}

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \"=") != std::string_view::npos;
}

std::string journal_key(std::string_view key) {
  std::string out = "RDMEND_";
  for (const char c : key) out += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(c)) : '_';
  return out;
}

}  // namespace

void set_level(Level level) { sink().terminal->set_level(spd_level(level)); }

void write(Level level, std::string_view subsystem, std::string_view message, std::initializer_list<Field> fields) {
  auto& out = sink();
  if (!out.terminal->should_log(spd_level(level))) return;
  std::string line = fmt::format("{}: {}", subsystem, printable(message, 2000));
  for (const auto& [key, value] : fields)
    line += needs_quotes(value) ? fmt::format(" {}=\"{}\"", key, printable(value)) : fmt::format(" {}={}", key, printable(value));
  if (!out.journal) {
    out.terminal->log(spd_level(level), "{}", line);
    return;
  }
  std::vector<std::string> entries{"MESSAGE=" + line, fmt::format("PRIORITY={}", priority(level)), "SYSLOG_IDENTIFIER=rdmend",
                                   fmt::format("RDMEND_SUBSYSTEM={}", subsystem)};
  for (const auto& [key, value] : fields) entries.push_back(journal_key(key) + "=" + value);
  std::vector<iovec> vectors;
  vectors.reserve(entries.size());
  for (auto& entry : entries) vectors.push_back({entry.data(), entry.size()});
  sd_journal_sendv(vectors.data(), static_cast<int>(vectors.size()));
}

std::int64_t Limiter::admit(const std::string& key, Instant now) {
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (entry == entries_.end()) {
    if (entries_.size() < kMostKeys) {
      entries_.push_back({key, now + period_, 0});
      return 0;
    }
    entry = entries_.end() - 1;
  }
  if (now < entry->next) {
    ++entry->suppressed;
    return -1;
  }
  entry->next = now + period_;
  return std::exchange(entry->suppressed, 0);
}

}  // namespace rdmend::log
