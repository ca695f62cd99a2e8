#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest, with two hosts: the ARP entry of a peer that rdma_cm connected to fails, and rdmend has the kernel resolve it again, with
# the shipped rule; where the peer does not answer, it says that this did not help.
set -euo pipefail
# shellcheck source=tests/e2e/common.sh
. "$RDMEND_SOURCE/tests/e2e/common.sh"
sed 's/^mode: .*/mode: act/; s/^  allow: .*/  allow: [refresh_neighbour]/; s/^  settle: .*/  settle: 5s/; s/^  hold_down: .*/  hold_down: 1s/; s|^rule_files: .*|rule_files: ["'"$RDMEND_SOURCE"'/config/rules.d/neighbours.yaml"]|' \
  "$RDMEND_SOURCE/config/rdmend.yaml" > "$work/rdmend.yaml"
grep -q '^rule_files: \["/' "$work/rdmend.yaml" || fail "the rules are not those that are meant"
sed -i 's/^\( *\)qp_interval: [^ ]*/\1qp_interval: 1s/' "$work/rdmend.yaml"

rping -s -a 10.0.0.2 > "$work/rping-server.log" 2>&1 &
must 30 "rdma resource show cm_id | grep -q LISTEN" "rping does not listen"
rping -c -a 10.0.0.2 -I 10.0.0.1 -C 1000000 > "$work/rping-client.log" 2>&1 &
client=$!
must 30 "[ \$(rdma resource show qp link rxe1 | grep -c 'type RC state RTS') -ge 1 ]" "rping does not connect: $(cat "$work"/rping-*.log)"
state() { ip -j neigh show 10.0.0.2 dev v1 | jq -r '.[0].state[0] // ""'; }
must 30 "[ \"\$(state)\" != '' ]" "host 1 has no entry of its peer"
# An application that waits: nothing goes over the wire that would resolve the entry by itself. It must not have stopped where its peer
# tries again and again (receiver not ready), and no entry may be about to be probed: who is asked learns who asks.
sent() { cat /sys/class/infiniband/rxe[12]/ports/1/hw_counters/sent_pkts; }
quiet() { local before; before=$(sent); sleep 1; [ "$(sent)" = "$before" ]; }
stopped() { kill -STOP "$client"; quiet || { kill -CONT "$client"; return 1; }; }
unasked() { [ -z "$(ip -4 neigh show nud delay nud probe nud incomplete)" ]; }
must 60 stopped "the application does not come to rest"
must 60 unasked "the neighbours do not come to rest: $(ip -4 neigh show)"
start_rdmend "$work/rdmend.yaml"
wait_for 60 "ctl query 'rdma_neighbour_queue_pairs{device=\"rxe1\",neighbour=\"10.0.0.2\"} > 0' | grep -q 10.0.0.2" ||
  fail "the peer is not seen: $(ctl query '{__name__=~"rdma_neighbour.*"}'; ctl qps; rdma resource show cm_id)"

echo "== an entry that failed is resolved again"
ip neigh change 10.0.0.2 dev v1 nud failed
must 10 "ctl events | grep -q neighbour_failed" "its failure is not heard"
must 60 "has_entry refresh_neighbour succeeded" "it was not mended: $(ctl remedies)"
entries refresh_neighbour started | jq -r .reason | grep -q 'was failed: the kernel resolves it again' || fail "$(ctl remedies)"
[ "$(state)" != FAILED ] || fail "said to be mended, but it is $(state)"
must 30 "[ \"\$(alert_state RdmaPeerUnresolved)\" = '' ]" "the alert stays"
ctl qps rxe1 | grep -Eq '10\.0\.0\.2 \((reachable|stale|delay|probe)\)' || fail "its state does not stand beside the queue pair: $(ctl qps rxe1)"

echo "== a peer that does not answer"
ip link set v2 arp off
ip neigh change 10.0.0.2 dev v1 nud failed
must 90 "has_entry refresh_neighbour ineffective" "nothing says that it did not help: $(ctl remedies)"
[ "$(state)" != REACHABLE ] || fail "who answers there?"
ip link set v2 arp on

echo "== the application goes on"
kill -CONT "$client"
must 60 "[ \"\$(state)\" = REACHABLE ]" "host 1 does not find its peer again"
kill -0 "$client" || fail "rping has ended: $(cat "$work"/rping-*.log)"
grep -q '^CapEff:.*0000000000081000$' "/proc/$(pgrep -x rdmend-hand)/status" || fail "the hand has other rights than its two: $(grep Cap "/proc/$(pgrep -x rdmend-hand)/status")"
kill "$client" "$rdmend_pid"
wait "$rdmend_pid" || fail "rdmend did not end well"
