// SPDX-License-Identifier: Apache-2.0
#include "verbs/event_names.hpp"

#include <infiniband/verbs.h>

#include <array>

namespace rdmend::verbs {
namespace {

struct Row {
  std::string_view name;
  EventScope scope;
};
using enum EventScope;
// The index is the event's number. 20 is newer than Debian 12's header.
constexpr std::array<Row, 21> kEvents{{{"CQ_ERR", object},
                                       {"QP_FATAL", object},
                                       {"QP_REQ_ERR", object},
                                       {"QP_ACCESS_ERR", object},
                                       {"COMM_EST", object},
                                       {"SQ_DRAINED", object},
                                       {"PATH_MIG", object},
                                       {"PATH_MIG_ERR", object},
                                       {"DEVICE_FATAL", device},
                                       {"PORT_ACTIVE", port},
                                       {"PORT_ERR", port},
                                       {"LID_CHANGE", port},
                                       {"PKEY_CHANGE", port},
                                       {"SM_CHANGE", port},
                                       {"SRQ_ERR", object},
                                       {"SRQ_LIMIT_REACHED", object},
                                       {"QP_LAST_WQE_REACHED", object},
                                       {"CLIENT_REREGISTER", port},
                                       {"GID_CHANGE", port},
                                       {"WQ_FATAL", object},
                                       {"DEVICE_SPEED_CHANGE", device}}};
static_assert(IBV_EVENT_DEVICE_FATAL == 8 && IBV_EVENT_PORT_ERR == 10 && IBV_EVENT_GID_CHANGE == 18 && IBV_EVENT_WQ_FATAL == 19);

}  // namespace

std::string_view event_name(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < kEvents.size() ? kEvents[type].name : std::string_view("unknown");
}

EventScope event_scope(int type) {
  return type >= 0 && static_cast<std::size_t>(type) < kEvents.size() ? kEvents[type].scope : unknown;
}

std::vector<std::string_view> events_of(EventScope scope) {
  std::vector<std::string_view> names;
  for (const auto& row : kEvents)
    if (row.scope == scope) names.push_back(row.name);
  return names;
}

}  // namespace rdmend::verbs
