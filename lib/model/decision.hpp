// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/diagnostic.hpp"
#include "model/labels.hpp"

namespace rdmend {

// A step of a rule's `remedy` list as the user wrote it: {raise_min_rnr_timer: {factor: 4, ceiling: 10ms}}. Its kind
// compiles it; here it is only carried, with the positions that its faults are reported at.
struct RemedyParam {
  std::string name;
  std::vector<std::string> values;  // one for a scalar, any number for a list
  bool is_list = false;
  Position at;        // of the name
  Position value_at;  // of the value
};
struct RemedySpec {
  std::string kind;
  std::string file;
  Position at;
  std::vector<RemedyParam> params;
};

enum class AlertState { inactive, pending, firing };
const char* alert_state_name(AlertState state);

// One alert (a label set) of one alerting rule, as Prometheus' /api/v1/alerts shows it.
struct Alert {
  std::string rule;
  std::string group;
  std::string file;
  Labels labels;       // with alertname and the rule's own, without external labels
  Labels annotations;  // expanded
  AlertState state = AlertState::inactive;
  double value = 0;
  Timestamp active_at{};          // when the expression first held
  Timestamp fired_at{};           // zero until it fired
  Timestamp resolved_at{};        // zero while it is active
  Timestamp keep_firing_since{};  // zero while the expression holds
  std::shared_ptr<const std::vector<RemedySpec>> remedy;  // null for a rule without one
  milliseconds interval{0};                               // of its group
  std::string query{};                                    // the rule's expression, canonical text
};

// A change of an alert's state, made by rules.step().
struct Decision {
  Timestamp at{};
  AlertState before = AlertState::inactive;
  Alert alert;  // alert.state is what it is now
};

}  // namespace rdmend
