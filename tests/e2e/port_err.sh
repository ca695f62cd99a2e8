#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: a link goes down, and the alert's POST leaves within 10 ms of the PORT_ERR event.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
trap 'kill $(jobs -p) 2> /dev/null' EXIT
start_alertmanager
start_rdmend "$RDMEND_SOURCE/tests/e2e/port_err.yaml"
worst=0
for round in 1 2 3 4 5; do
  must 30 "! alertmanager_has RdmaPortDown && [ -z \"\$(alert_state RdmaPortDown)\" ]" "an alert is there before the link goes down"
  ip link set v1 down
  must 10 "[ \"\$(alert_state RdmaPortDown)\" = firing ]" "the alert does not fire"
  must 10 "alertmanager_has RdmaPortDown" "the Alertmanager did not get the alert"
  took=$(metric rdmend_event_to_notification_seconds)
  echo "round $round: from the event to the POST leaving: $(awk -v t="$took" 'BEGIN { printf "%.2f ms", t * 1000 }')"
  worst=$(awk -v a="$worst" -v b="$took" 'BEGIN { print a > b ? a : b }')
  host_up 1
done
awk -v t="$worst" 'BEGIN { exit !(t > 0 && t < 0.010) }' || fail "the slowest took $worst s, 10 ms are allowed"
curl -sf http://127.0.0.1:9093/api/v2/alerts | jq -e 'all(.[]; .labels.instance == "test" and .labels.device == "rxe1")' > /dev/null || fail "the alert's labels"
ctl events --json | jq -e '[.events[] | select(.kind == "PORT_ERR" and .device == "rxe1")] | length == 5' > /dev/null || fail "five PORT_ERR events"
curl -sf http://127.0.0.1:9879/metrics | promtool check metrics
