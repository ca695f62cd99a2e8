#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: a link goes down, and the alert's POST leaves within 10 ms of the PORT_ERR event, in one round of at most
# twenty. The emulated machine only ever adds to a time: the first round loads code from its slow disk, others wait for a processor.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
start_alertmanager
start_rdmend "$RDMEND_SOURCE/tests/e2e/port_err.yaml"
good=0 rounds=0
until [ $good -ge 1 ]; do
  rounds=$((rounds + 1))
  [ $rounds -le 20 ] || fail "10 ms are allowed"
  must 60 "! alertmanager_has RdmaPortErr && [ -z \"\$(alert_state RdmaPortErr)\" ]" "an alert is there before the link goes down"
  told=$(grep -c 'RdmaPortErr is firing' "$work/rdmend.log" || true)
  ip link set v1 down
  # Looking at the log only, and not at once: asking rdmend would be work for the very loop that is measured.
  must 10 "sleep 0.3; [ \$(grep -c 'RdmaPortErr is firing' $work/rdmend.log) -gt $told ]" "the rule does not fire"
  must 10 "[ \"\$(alert_state RdmaPortErr)\" = firing ]" "the alert does not fire"
  must 10 "alertmanager_has RdmaPortErr" "the Alertmanager did not get the alert"
  took=$(metric rdmend_event_to_notification_seconds)
  echo "round $rounds: from the event to the POST leaving: $(awk -v t="$took" 'BEGIN { printf "%.2f ms", t * 1000 }')"
  ! awk -v t="$took" 'BEGIN { exit !(t > 0 && t < 0.010) }' || good=$((good + 1))
  host_up 1
done
curl -sf http://127.0.0.1:9093/api/v2/alerts | jq -e 'all(.[]; .labels.instance == "test" and .labels.device == "rxe1")' > /dev/null || fail "the alert's labels"
ctl events --json | jq -e '[.events[] | select(.kind == "PORT_ERR" and .device == "rxe1")] | length' | grep -qx $rounds || fail "one PORT_ERR event a round"
curl -sf http://127.0.0.1:9879/metrics | promtool check metrics
