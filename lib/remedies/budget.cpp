// SPDX-License-Identifier: Apache-2.0
#include "remedies/budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace rdmend::remedies {
namespace {

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
