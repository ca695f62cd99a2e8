// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/qp.hpp"
#include "store/store.hpp"

namespace rdmend::advice {

// What an advice is drawn from: one port, its series and its QPs.
struct Scene {
  const store::Store& store;
  std::string device, port;
  const QpDump& qps;  // of the device; an empty one when there is none
  Timestamp now{};
};

struct Advice {
  std::string text;  // which value is right, and why, in a few sentences
  std::map<std::string, std::string> figures;
};

// One row a topic of the `advise` remedy: what it is about, and how the advice is made.
struct TopicRow {
  std::string_view name;
  std::string_view help;
  Advice (*give)(const Scene& scene);
};
const std::vector<TopicRow>& topics();
// null when there is no such topic.
const TopicRow* find_topic(std::string_view name);

// The window that rates of an advice are taken over.
inline constexpr milliseconds kAdviceWindow = std::chrono::minutes{1};

}  // namespace rdmend::advice
