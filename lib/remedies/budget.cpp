// SPDX-License-Identifier: Apache-2.0
#include "remedies/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace rdmend::remedies {
namespace {

constexpr std::chrono::hours kLongestAway{24 * 365};

std::string spent_text(const std::string& whose, const config::Bucket& bucket) {
  return fmt::format("the budget of {} is spent ({} at once, one more each {})", whose, bucket.burst,
                     format_duration(bucket.refill));
}

}  // namespace

void Budget::refill(Level& level, const config::Bucket& bucket, Instant now) {
  const std::chrono::duration<double> passed = now - level.at;
  const double each = std::chrono::duration<double>(bucket.refill).count();
  level.spent = each > 0 ? std::max(0.0, level.spent - passed.count() / each) : 0;
  level.at = now;
}

bool Budget::has_token(Level& level, const config::Bucket& bucket, Instant now) {
  refill(level, bucket, now);
  return level.spent + 1 <= static_cast<double>(bucket.burst) + 1e-9;
}

std::string Budget::take(const Action::Target& target, Instant now) {
  if (targets_.size() >= kMostKeys || processes_.size() >= kMostKeys) forget_full(now);
  if (targets_.size() >= kMostKeys && !targets_.contains(target.key))
    return "too many targets were acted on lately to keep count of another";
  auto& own = targets_[target.key];
  if (!has_token(own, limits_.qp, now)) return spent_text(target.text, limits_.qp);
  Level* process = target.process.empty() ? nullptr : &processes_[target.process];
  if (process != nullptr && !has_token(*process, limits_.process, now))
    return spent_text(target.process, limits_.process);
  if (!has_token(host_, limits_.host, now)) return spent_text("the host", limits_.host);
  own.spent += 1;
  if (process != nullptr) process->spent += 1;
  host_.spent += 1;
  return {};
}

std::string Budget::save(Now now) const {
  const auto spent = [&](const Levels& levels, const config::Bucket& bucket) {
    auto out = nlohmann::json::object();
    for (const auto& [key, level] : levels) {
      auto at_present = level;
      refill(at_present, bucket, now.mono);
      if (at_present.spent > 0) out[key] = at_present.spent;
    }
    return out;
  };
  const nlohmann::json saved{{"at", now.wall.time_since_epoch().count()},
                   {"targets", spent(targets_, limits_.qp)},
                   {"processes", spent(processes_, limits_.process)},
                   {"host", spent({{"host", host_}}, limits_.host)}};
  return saved.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Budget::restore(const std::string& text, Now now) {
  const auto saved = nlohmann::json::parse(text, nullptr, false);
  if (!saved.is_object() || !saved.contains("at") || !saved["at"].is_number_integer()) return;
  // A wall clock that was set back brings nothing back.
  const auto since = std::clamp<std::int64_t>(saved["at"].get<std::int64_t>(), 0, now.wall.time_since_epoch().count());
  const auto away = std::min<milliseconds>(now.wall.time_since_epoch() - milliseconds{since}, kLongestAway);
  const auto take = [&](const char* name, Levels& levels, const config::Bucket& bucket) {
    if (!saved.contains(name) || !saved[name].is_object()) return;
    for (const auto& [key, spent] : saved[name].items())
      if (spent.is_number() && levels.size() < kMostKeys)
        levels[key] = {std::clamp(spent.get<double>(), 0.0, static_cast<double>(bucket.burst)), now.mono - away};
  };
  Levels host;
  take("targets", targets_, limits_.qp);
  take("processes", processes_, limits_.process);
  take("host", host, limits_.host);
  if (!host.empty()) host_ = host.begin()->second;
}

void Budget::forget_full(Instant now) {
  const auto forget = [now](std::map<std::string, Level>& levels, const config::Bucket& bucket) {
    for (auto level = levels.begin(); level != levels.end();) {
      refill(level->second, bucket, now);
      level = level->second.spent <= 0 ? levels.erase(level) : std::next(level);
    }
  };
  forget(targets_, limits_.qp);
  forget(processes_, limits_.process);
}

}  // namespace rdmend::remedies
