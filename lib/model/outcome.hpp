// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "model/labels.hpp"

namespace rdmend {

// What became of an action, in the words of rdmend_remedies_total{outcome}.
enum class Verdict {
  refused,      // check said no; `reason` says why
  dry_run,      // would have been done, in mode observe
  started,      // under way
  succeeded,    // verified: the evidence changed for the better
  ineffective,  // done, but the evidence did not change for the better; undone where it can be
  failed,       // could not be done
  undone,       // what it had changed was given back
  undo_failed,
};
const char* verdict_name(Verdict verdict);

// One line of the journal: a change of decision about one target of one alert's remedy. Refusals are lines too.
struct JournalEntry {
  std::uint64_t id = 0;      // given by the journal, rising
  std::uint64_t action = 0;  // the action that it belongs to: the ID of `rdmendctl undo ID`; 0 for none
  Timestamp at{};
  std::string rule;
  Labels alert;        // its labels
  double value = 0;    // the evidence: the expression's value
  std::string kind;    // "raise_min_rnr_timer"
  std::string target;  // "rxe2/1", "rxe2/1 qpn 17 (ib_send_bw, pid 812)"
  Verdict verdict = Verdict::refused;
  std::string reason;                           // one sentence for a person
  std::map<std::string, std::string> figures;  // before, after, rates: what the reason rests on
};

}  // namespace rdmend
