#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: devices that go, come back and are renamed under a running rdmend, and a clock that is set back. Deleting a
# device must never wait for rdmend, which has it open.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
devices() { ctl status --json | jq -r '[.devices[].name] | sort | join(" ")'; }
points() { ctl query 'count_over_time(rdma_port_state{device="rxe2"}[10s])' --json | jq -r '.result[0].value[1] // 0'; }
start_rdmend "$RDMEND_SOURCE/tests/e2e/port_err.yaml"
must 30 "[ \"\$(devices)\" = 'rxe1 rxe2' ]" "rdmend does not know both devices"
for round in 1 2 3; do
  must 30 "ls -l /proc/$rdmend_pid/fd | grep -q infiniband" "rdmend has no device open, so that this would prove nothing"
  began=${EPOCHREALTIME/./}
  timeout 20 rdma link del rxe1 || fail "rdma link del waits for rdmend"
  echo "round $round: rdma link del returned after $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
  must 30 "[ \"\$(devices)\" = rxe2 ]" "rdmend does not notice that rxe1 has gone"
  rdma link add rxe1 type rxe netdev v1
  must 30 "[ \"\$(devices)\" = 'rxe1 rxe2' ]" "rdmend does not notice that rxe1 is back"
done
rdma dev set rxe1 name blue
must 30 "[ \"\$(devices)\" = 'blue rxe2' ]" "rdmend does not notice the new name"
ip link set v1 down
must 30 "ctl events --json | jq -e 'any(.events[]; .kind == \"PORT_ERR\" and .device == \"blue\")' > /dev/null" "no event under the new name"

# The clock is set back by less than the store keeps: rdmend goes on as if nothing had been.
must 30 "[ \"\$(points)\" -ge 3 ]" "no points before the clock is set back"
date -s '-300 seconds' > /dev/null
must 30 "[ \"\$(points)\" -ge 6 ]" "no points after the clock was set back"
[ "$(points)" -le 11 ] || fail "more points than seconds: $(points)"
[ "$(metric rdmend_store_rejected_points_total)" = 0 ] || fail "points were rejected"
kill $rdmend_pid
wait $rdmend_pid || fail "rdmend did not end well"
