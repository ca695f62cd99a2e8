#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demonstration, in a virtual machine (packaging/quickstart.sh starts it): two hosts with Soft-RoCE, an ordinary pair of processes, rdmend
# and an Alertmanager. A receiver becomes slow for a while; every step of what follows is told as it happens, and is a failure when it
# does not happen within its bound, so that this is a test as well.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

began=${EPOCHREALTIME/./}
tell() { printf '%6.1f s  %s\n' "$(awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }')" "$*"; }
also() { printf '          %s\n' "$@"; }
figures() { also "receiver: $goodput messages a second; RNR NAKs it sends: $naks a second"; }
at_least() { awk -v a="$1" -v b="$2" -v c="$3" 'BEGIN { exit !(a >= b * c) }'; }   # a >= b * c
alert=RdmaRnrNakStorm

tell "Two hosts: rxe1 (10.0.0.1) and rxe2 (10.0.0.2), Soft-RoCE over a wire of their own."
start_alertmanager
start_rdmend "$RDMEND_SOURCE/packaging/demo/rdmend.yaml"
tell "rdmend watches both, allowed to act; an Alertmanager listens."
start_pair
tell "An ordinary pair of RDMA processes talks: rxe1 sends, rxe2 receives, 2 RC queue pairs. It has never heard of rdmend."
measure 4; figures
calm=$goodput
at_least 20 "$naks" 1 || fail "$naks RNR NAKs a second while all is calm"

storm_begins
tell "STORM: the receiver becomes slow. It posts receives late, and answers what comes too early with RNR NAKs (receiver not ready)."
must 30 "[ -n \"\$(alert_state $alert)\" ]" "no alert is pending"
tell "ALERT $(alert_state $alert): $alert, over 100 NAKs a minute"
measure 3; figures
storm_naks=$naks storm_goodput=$goodput
at_least "$storm_naks" 2 1 || fail "$storm_naks RNR NAKs a second are no storm"
must 60 "[ \"\$(alert_state $alert)\" = firing ]" "the alert does not fire"
tell "ALERT firing: $(ctl alerts --json | jq -r '.alerts[0].annotations.summary')"
must 30 "alertmanager_has $alert" "the Alertmanager did not get the alert"
also "the Alertmanager has it"

must 60 "has_entry raise_min_rnr_timer started" "no remedy was begun"
tell "REMEDY raise_min_rnr_timer: the receiver asks its senders to wait longer, in the running process, by the external hand"
entries raise_min_rnr_timer started | jq -r '"          \(.target): \(.reason)"'
now=$(timers)
[ "$now" = "23 23" ] || fail "the queue pairs have min_rnr_timer '$now', not code 23 (30.72 ms)"
measure 5; figures
at_least "$storm_naks" "$naks" 1.5 || fail "the NAKs did not fall: $storm_naks a second before, $naks after"
at_least "$goodput" "$storm_goodput" 0.9 || fail "the receiver's rate fell: $storm_goodput messages a second before, $goodput after"
tell "NAKs $storm_naks -> $naks a second, while $storm_goodput -> $goodput messages a second go through."
must 60 "has_entry raise_min_rnr_timer succeeded" "the remedy was not verified"
tell "VERIFIED by rdmend itself: $(entries raise_min_rnr_timer succeeded | tail -n 1 | jq -r .reason)"
must 60 "has_entry advise succeeded" "the next step, an advice, was not given"
tell "It still fires, so the next step: $(entries advise succeeded | tail -n 1 | jq -r .reason)"

storm_ends
tell "STORM OVER: the receiver is quick again."
must 90 "[ -z \"\$(alert_state $alert)\" ]" "the alert does not resolve"
tell "ALERT resolved"
must 60 "! alertmanager_has $alert" "the Alertmanager was not told"
also "the Alertmanager was told"
must 120 "has_entry raise_min_rnr_timer undone" "the timer was not given back"
tell "GIVEN BACK after the hold: $(entries raise_min_rnr_timer undone | tail -n 1 | jq -r .reason)"
now=$(timers)
[ "$now" = "15 15" ] || fail "the queue pairs have min_rnr_timer '$now', not code 15 (1.92 ms) as before"
also "read back from the queue pairs: min_rnr_timer code $now"
measure 3; figures
at_least "$goodput" "$calm" 0.7 || fail "$calm messages a second before the storm, $goodput after it"
end_pair
tell "The same story as rdmendctl explain $alert tells it:"
echo
ctl explain "$alert"
