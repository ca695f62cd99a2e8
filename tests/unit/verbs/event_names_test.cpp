// SPDX-License-Identifier: Apache-2.0
#include "verbs/event_names.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <catch2/catch.hpp>

using namespace rdmend::verbs;

TEST_CASE("events have the names and scopes of the verbs header") {
  CHECK(event_name(IBV_EVENT_PORT_ERR) == "PORT_ERR");
  CHECK(event_name(IBV_EVENT_CLIENT_REREGISTER) == "CLIENT_REREGISTER");
  CHECK(event_scope(IBV_EVENT_DEVICE_FATAL) == EventScope::device);
  CHECK(event_scope(IBV_EVENT_GID_CHANGE) == EventScope::port);
  CHECK(event_scope(IBV_EVENT_SRQ_LIMIT_REACHED) == EventScope::object);
  for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_WQ_FATAL; ++type) CHECK(event_scope(type) != EventScope::unknown);
}

TEST_CASE("an event that is newer than the table is told as unknown") {
  for (const int type : {-1, 21, 1000}) {
    CHECK(event_name(type) == "unknown");
    CHECK(event_scope(type) == EventScope::unknown);
  }
}

TEST_CASE("a scope's events are complete") {
  CHECK(events_of(EventScope::device) == std::vector<std::string_view>{"DEVICE_FATAL", "DEVICE_SPEED_CHANGE"});
  CHECK(events_of(EventScope::port) == std::vector<std::string_view>{"PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE",
                                                                     "CLIENT_REREGISTER", "GID_CHANGE"});
  CHECK(events_of(EventScope::object).size() == 12);
}
