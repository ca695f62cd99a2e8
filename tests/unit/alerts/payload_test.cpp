// SPDX-License-Identifier: Apache-2.0
#include "alerts/payload.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace rdmend;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

Alert firing() {
  Alert alert;
  alert.rule = "RdmaPortDown";
  alert.group = "ports";
  alert.labels = {{"alertname", "RdmaPortDown"}, {"device", "rxe1"}};
  alert.annotations = {{"summary", "rxe1/1 is down"}};
  alert.state = AlertState::firing;
  alert.fired_at = Timestamp{1'700'000'000'123ms};
  alert.interval = 15s;
  alert.query = "rdma_port_state != 4";
  return alert;
}
const alerts::Envelope kEnvelope{{{"instance", "host-17"}, {"device", "must not win"}}, "http://host-17:9879/", 60s};
constexpr Timestamp kNow{1'700'000'010'000ms};

}  // namespace

TEST_CASE("G1: a firing alert ends four re-sends from now, and carries where it comes from") {
  CHECK(json::parse(alerts::payload(firing(), kEnvelope, kNow)) == json::parse(R"({
    "labels": {"alertname": "RdmaPortDown", "device": "rxe1", "instance": "host-17"},
    "annotations": {"summary": "rxe1/1 is down"},
    "startsAt": "2023-11-14T22:13:20.123Z",
    "endsAt": "2023-11-14T22:17:30.000Z",
    "generatorURL": "http://host-17:9879/api/v1/query?query=rdma_port_state%20%21%3D%204"})"));
}

TEST_CASE("G1: a group slower than the re-send stretches the end") {
  auto alert = firing();
  alert.interval = 5min;
  CHECK(json::parse(alerts::payload(alert, kEnvelope, kNow))["endsAt"] == "2023-11-14T22:33:30.000Z");
}

TEST_CASE("G1: a resolved alert ends when it resolved") {
  auto alert = firing();
  alert.state = AlertState::inactive;
  alert.resolved_at = Timestamp{1'700'000'005'000ms};
  CHECK(json::parse(alerts::payload(alert, kEnvelope, kNow))["endsAt"] == "2023-11-14T22:13:25.000Z");
}

TEST_CASE("bytes that are not UTF-8 are replaced, not thrown at") {
  auto alert = firing();
  alert.labels.set("comm", "a\xff\xfe\"b");
  CHECK(json::parse(alerts::payload(alert, kEnvelope, kNow))["labels"]["comm"] == "a\xef\xbf\xbd\xef\xbf\xbd\"b");
}
