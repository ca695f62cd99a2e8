// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/clock.hpp"
#include "model/decision.hpp"
#include "model/labels.hpp"

namespace rdmend::alerts {

// What every alert of this host carries besides its own.
struct Envelope {
  Labels external_labels;
  std::string external_url;
  milliseconds resend{60'000};
};

// The alert's labels as Alertmanager gets them: an external label stands only where the alert has none of that name.
Labels merged_labels(const Labels& own, const Labels& external);

// One element of the array that POST /api/v2/alerts takes (Alertmanager's api/v2/openapi.yaml, postableAlert). While it
// fires, endsAt = now + 4 x max(group interval, resend), as Prometheus has it: a lost re-send or three do not resolve it.
std::string payload(const Alert& alert, const Envelope& envelope, Timestamp now);

}  // namespace rdmend::alerts
