// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rdmend::verbs {

// What an async event is about, and with it which field of the event is valid.
enum class EventScope { device, port, object, unknown };

// "PORT_ERR" of 10, as enum ibv_event_type numbers them; "unknown" for a number newer than this table.
std::string_view event_name(int type);
EventScope event_scope(int type);
// The names of every event of that scope, in their numbers' order.
std::vector<std::string_view> events_of(EventScope scope);

}  // namespace rdmend::verbs
