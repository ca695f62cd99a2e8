#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: RDMA traffic crosses the wire and a raised event arrives. All that the other tests build on.
set -euo pipefail
. "$RDMEND_SOURCE/tests/vm/two-hosts.sh"
[ -d "$RDMEND_BUILD" ]
received() { cat /sys/class/infiniband/rxe2/ports/1/hw_counters/rcvd_pkts; }
before=$(received)
ibv_rc_pingpong -d rxe2 -g 1 -n 20 > /tmp/server & server=$!
wait_for 30 "ss -Htln 'sport = :18515' | grep -q ."
ibv_rc_pingpong -d rxe1 -g 1 -n 20 10.0.0.2
wait $server
[ $(($(received) - before)) -ge 20 ]
[ -w /sys/kernel/debug/evinject/port ]
ibv_asyncwatch -d rxe1 > /tmp/events & watch=$!
wait_for 30 "ls -l /proc/$watch/fd | grep -q infinibandevent"
echo "rxe1 1 11" > /sys/kernel/debug/evinject/port
wait_for 30 "grep -q -i lid /tmp/events"
kill $watch
cat /tmp/events
