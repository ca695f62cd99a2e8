// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "model/sample.hpp"
#include "rdmend/core.hpp"

namespace rdmend::daemon {

// rdmend's own series, as one batch of the store: so that rules see them as well as /metrics. `event_to_notification` is the
// last time from the wake-up that read an event to the POST that told of it, none before the first.
Batch self_metrics(const Core& core, std::optional<nanoseconds> event_to_notification);

}  // namespace rdmend::daemon
