#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: rdmend is killed while a timer that it raised, with success, is due to be given back after the hold; the next
# rdmend does it.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
start_rdmend "$RDMEND_SOURCE/packaging/demo/rdmend.yaml"
start_pair
storm_begins
must 90 "has_entry raise_min_rnr_timer succeeded" "no remedy was begun and verified"
[ "$(timers)" = "23 23" ] || fail "the timers were not raised: $(timers)"
kill -9 $rdmend_pid
wait $rdmend_pid 2> /dev/null || true
must 10 "! pgrep -x rdmend-hand > /dev/null" "the hand outlives rdmend"
storm_ends
start_rdmend "$RDMEND_SOURCE/packaging/demo/rdmend.yaml"
[ "$(timers)" = "23 23" ] || fail "the timers changed while rdmend was away: $(timers)"
must 120 "has_entry raise_min_rnr_timer undone" "the timer was not given back"
[ "$(timers)" = "15 15" ] || fail "the timers were not given back: $(timers)"
entries raise_min_rnr_timer undone | jq -r '"\(.target): \(.reason)"'
end_pair
