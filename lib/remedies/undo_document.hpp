// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "model/decision.hpp"

namespace rdmend::remedies {

// One action in the journal's document "undo": what a restarted rdmend needs to give back what it had
// changed.
struct DueUndo {
  std::uint64_t action = 0;
  std::string rule, group;
  Labels alert;
  double value = 0;
  RemedySpec spec;     // of the step that did it
  std::string target;  // in words
  std::string record;  // the action's own undo_record()
  bool verified = false;
  Timestamp began{};
  Timestamp inactive_since{};  // zero while the alert was firing
  milliseconds hold{0};        // how long after that it is given back
};

std::string encode(const std::vector<DueUndo>& due);
// What can be read of it; `fault` says what could not.
std::vector<DueUndo> decode_due_undos(const std::string& text, std::string& fault);

}  // namespace rdmend::remedies
